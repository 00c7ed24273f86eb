#include "tools/server/runnel_protocol.h"

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/live_update.h"
#include "tools/decimal.h"
#include "tools/server/client_json.h"
#include "tools/server/message_text.h"

namespace runnel::server {
namespace {

constexpr int64_t kMaxFrames = 1000000;  // eleven hours of encoder frames
constexpr size_t kMaxTokenBytes = 4096;

const std::map<std::string, SampleEncoding>& Encodings() {
  static const std::map<std::string, SampleEncoding> encodings = {
      {"pcm16", SampleEncoding::kPcm16}, {"float32", SampleEncoding::kFloat32}};
  return encodings;
}

const char* EncodingName(SampleEncoding encoding) {
  for (const auto& [name, value] : Encodings()) {
    if (value == encoding) return name.c_str();
  }
  return "";
}

void CheckVersion(JsonSection* message) {
  if (!message->Has("version")) {
    throw ClientMistake(ErrorCode::kUnknownVersion, "version is missing, expected 1");
  }
  try {
    message->Integer("version", RunnelProtocol::kVersion, RunnelProtocol::kVersion);
  } catch (const std::runtime_error& error) {
    throw ClientMistake(ErrorCode::kUnknownVersion, error.what());
  }
}

// chunk_size and left_context: -1 for everything there is.
int64_t Frames(JsonSection* message, const std::string& field, int64_t min) {
  if (!message->Has(field)) return StreamOptions::kModelDefault;
  const int64_t frames = message->Integer(field, -1, kMaxFrames);
  if (frames != -1 && frames < min) {
    message->Fail(field, "-1 (all) or an integer from " + std::to_string(min));
  }
  return frames;
}

SearchOptions Search(JsonSection* message) {
  SearchOptions search;
  if (message->Has("search")) {
    search.method = message->Choice<SearchMethod>(
        "search", {{"greedy", SearchMethod::kGreedy}, {"beam", SearchMethod::kPrefixBeam}});
  }
  if (message->Has("beam_size")) {
    search.beam_size =
        static_cast<int>(message->Integer("beam_size", 1, SearchOptions::kMaxBeamSize));
  }
  return search;
}

OrderedJson Pong(const nlohmann::json& message) {
  OrderedJson pong = {{"type", "pong"}};
  for (const auto& [field, value] : message.items()) {
    if (field == "type") continue;
    if (field != "id") {
      throw ClientMistake(ErrorCode::kBadOption, "ping: it has a field besides type and id");
    }
    if (value.is_structured()) {
      throw ClientMistake(ErrorCode::kBadOption, "ping: id is not a string, number, true or false");
    }
    pong["id"] = value;
  }
  return pong;
}

}  // namespace

std::vector<ClientRequest> RunnelProtocol::Read(const ClientMessage& message) {
  if (phase_ == Phase::kOver) return {};
  ClientRequest request;
  try {
    request = message.is_text ? ReadText(message.bytes) : ReadAudio(message.bytes);
  } catch (const ClientMistake& mistake) {
    request = ProtocolError{mistake.code(), mistake.what()};
  } catch (const std::runtime_error& error) {  // JsonSection's
    request = ProtocolError{ErrorCode::kBadOption, error.what()};
  }
  if (std::holds_alternative<ProtocolError>(request)) phase_ = Phase::kOver;
  return {std::move(request)};
}

ClientRequest RunnelProtocol::ReadText(std::string_view text) {
  const nlohmann::json json = ReadClientJson(text);
  const auto found = json.find("type");
  if (found == json.end() || !found->is_string()) {
    throw ClientMistake(ErrorCode::kBadMessage, R"(a message without a string "type")");
  }
  const auto type = found->get<std::string>();
  if (type == "ping") return ImmediateReply{MessageText(Pong(json))};

  JsonSection message(json, "", type);
  message.String("type");
  if (type == "start") return ReadStart(&message);
  if (type == "resume") return ReadResume(&message);
  if (type != "finish" && type != "cancel") {
    throw ClientMistake(ErrorCode::kBadMessage,
                        "type is " + OneLine(type.substr(0, 40)) +
                            ", expected start, resume, finish, cancel or ping");
  }
  message.CheckAllTaken();
  if (type == "finish") return ReadFinish();
  phase_ = Phase::kOver;
  return CancelRequest{};
}

void RunnelProtocol::ReadClientSide(JsonSection* message) {
  if (message->Has("encoding")) {
    decoder_ = SampleDecoder(message->Choice("encoding", Encodings()));
  }
  if (message->Has("nbest")) nbest_ = static_cast<size_t>(message->Integer("nbest", 1, kMaxNBest));
  if (message->Has("tokens")) wants_tokens_ = message->Bool("tokens");
}

ClientRequest RunnelProtocol::ReadStart(JsonSection* message) {
  if (phase_ != Phase::kBeforeStart) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "a second start in one connection");
  }
  CheckVersion(message);
  ReadClientSide(message);
  StartRequest start;
  if (message->Has("sample_rate")) {
    start.options.sample_rate_hz = static_cast<int>(
        message->Integer("sample_rate", StreamOptions::kMinRate, StreamOptions::kMaxRate));
  }
  start.options.chunk_size = Frames(message, "chunk_size", 1);
  start.options.left_context = Frames(message, "left_context", 0);
  start.options.search = Search(message);
  start.names_beam_size = message->Has("beam_size");
  if (message->Has("resume")) start.wants_snapshots = message->Bool("resume");
  message->CheckAllTaken();
  start.encoding = decoder_.encoding();
  start.nbest = static_cast<int>(nbest_);
  start.wants_tokens = wants_tokens_;
  phase_ = Phase::kAudio;
  return start;
}

ClientRequest RunnelProtocol::ReadResume(JsonSection* message) {
  if (phase_ != Phase::kBeforeStart) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "a resume after the start of a connection");
  }
  CheckVersion(message);
  ReadClientSide(message);
  ResumeRequest resume{message->String("token"), 0};
  if (resume.token.empty() || resume.token.size() > kMaxTokenBytes) {
    message->Fail("token", "the token of a snapshot message");
  }
  message->CheckAllTaken();
  if (message->Has("nbest")) {
    resume.nbest = static_cast<int>(nbest_);
  } else {
    nbest_ = kMaxNBest;  // the stream knows how many
  }
  phase_ = Phase::kAudio;
  return resume;
}

ClientRequest RunnelProtocol::ReadFinish() {
  if (phase_ != Phase::kAudio) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, phase_ == Phase::kFinished
                                                          ? "a second finish in one connection"
                                                          : "finish before start");
  }
  if (decoder_.num_waiting_bytes() > 0) {
    throw ClientMistake(
        ErrorCode::kOddBytes,
        "the audio ends within a sample: " + std::to_string(decoder_.num_waiting_bytes()) +
            " bytes are left over after whole samples of " + EncodingName(decoder_.encoding()));
  }
  phase_ = Phase::kFinished;
  return FinishRequest{};
}

ClientRequest RunnelProtocol::ReadAudio(std::string_view bytes) {
  if (phase_ != Phase::kAudio) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder,
                        phase_ == Phase::kFinished ? "audio after finish" : "audio before start");
  }
  return AudioRequest{decoder_.Decode(bytes)};
}

std::vector<std::string> RunnelProtocol::OnReady(const SessionInfo& info) {
  OrderedJson ready = {{"type", info.num_samples < 0 ? "ready" : "resumed"},
                       {"version", kVersion},
                       {"session", info.session_id},
                       {"sample_rate", info.options.sample_rate_hz},
                       {"encoding", EncodingName(decoder_.encoding())},
                       {"chunk_size", info.options.chunk_size},
                       {"left_context", info.options.left_context},
                       {"frame_ms", Rounded(info.encoder_frame_ms)},
                       {"model", info.model_name},
                       {"resume", info.keeps_snapshots}};
  if (info.num_samples >= 0) ready["samples"] = info.num_samples;
  return {MessageText(ready)};
}

std::vector<std::string> RunnelProtocol::OnUpdate(const LiveUpdate& update) {
  if (!update.error.empty()) return OnError({ErrorCode::kStreamFailed, update.error});
  if (update.is_final) {
    phase_ = Phase::kOver;
    std::string final =
        MessageText({{"type", "final"}, {"latency_ms", Rounded(update.latency_ms)}});
    AddResult(update.nbest, nbest_, update.audio_ms, wants_tokens_, tokens_, &final);
    return {std::move(final)};
  }
  if (update.stable_size_before == 0) num_stable_characters_ = 0;
  const std::string stable_text = ValidText(update.stable_text);
  const int64_t stable_offset = num_stable_characters_;
  num_stable_characters_ += NumCharacters(stable_text);
  OrderedJson partial = {{"type", "partial"},
                         {"stable_text", stable_text},
                         {"tentative_text", update.tentative_text},
                         {"stable_offset", stable_offset},
                         {"stable_length", num_stable_characters_},
                         {"audio_ms", Rounded(update.audio_ms)},
                         {"latency_ms", Rounded(update.latency_ms)}};
  if (!wants_tokens_) return {MessageText(partial)};
  partial["stable_tokens"] = update.num_stable_tokens;
  std::string text = MessageText(partial);
  BeginField("tokens", &text);
  AppendTokens(update.tokens, tokens_, &text);
  text += '}';
  return {std::move(text)};
}

std::vector<std::string> RunnelProtocol::OnSnapshot(const std::string& token, int64_t num_samples) {
  return {MessageText({{"type", "snapshot"}, {"token", token}, {"samples", num_samples}})};
}

std::vector<std::string> RunnelProtocol::OnError(const ProtocolError& error) {
  phase_ = Phase::kOver;
  return {ErrorText(error)};
}

}  // namespace runnel::server
