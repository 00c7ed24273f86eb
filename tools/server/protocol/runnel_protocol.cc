#include "tools/server/protocol/runnel_protocol.h"

#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/live_update.h"
#include "tools/cli/decimal.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/message_text.h"
#include "tools/server/protocol/start_options.h"

namespace runnel::server {
namespace {

constexpr size_t kMaxSnapshotTokenBytes = 4096;

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

std::string FinalMessage(const LiveUpdate& update, size_t max_results, bool wants_tokens,
                         const TokenTable& tokens) {
  std::string message =
      MessageText({{"type", "final"}, {"latency_ms", Rounded(update.latency_ms)}});
  AddResult(update.nbest, max_results, update.audio_ms, wants_tokens, tokens, &message);
  return message;
}

bool RunnelProtocol::Recognizes(const ClientMessage& /*first*/, const nlohmann::json& json) {
  return json.contains("type");
}

std::vector<ClientRequest> RunnelProtocol::Read(const ClientMessage& message) {
  if (phase_ == Phase::kOver) return {};
  ClientRequest request;
  try {
    request = message.is_text ? ReadText(message.bytes) : ReadAudio(message.bytes);
  } catch (const ClientMistake& mistake) {
    request = ProtocolError{mistake.code(), mistake.what()};
  } catch (const std::runtime_error& error) {  // of JsonSection
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

void RunnelProtocol::ReadCommonFields(JsonSection* message) {
  if (message->Has("encoding")) {
    std::map<std::string, SampleEncoding> encodings;
    for (const SampleEncoding encoding : kSampleEncodings) encodings[NameOf(encoding)] = encoding;
    decoder_ = MakeSampleDecoder(message->Choice<SampleEncoding>("encoding", encodings));
  }
  if (message->Has("tokens")) wants_tokens_ = message->Bool("tokens");
}

ClientRequest RunnelProtocol::ReadStart(JsonSection* message) {
  if (phase_ != Phase::kBeforeStart) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "a second start in one connection");
  }
  CheckVersion(message);
  ReadCommonFields(message);
  StartRequest start;
  if (message->Has("sample_rate")) {
    start.options.sample_rate_hz = static_cast<int>(
        message->Integer("sample_rate", StreamOptions::kMinRate, StreamOptions::kMaxRate));
    if (decoder_->encoding() == SampleEncoding::kOpus &&
        !IsOpusRate(start.options.sample_rate_hz)) {
      message->Fail("sample_rate", std::string(kOpusRatesText) + " with the encoding opus");
    }
  }
  ReadStartOptions(message, &start);
  if (message->Has("resume")) start.wants_snapshots = message->Bool("resume");
  message->CheckAllTaken();
  start.encoding = decoder_->encoding();
  start.wants_tokens = wants_tokens_;
  nbest_ = static_cast<size_t>(start.nbest);
  phase_ = Phase::kAudio;
  return start;
}

ClientRequest RunnelProtocol::ReadResume(JsonSection* message) {
  if (phase_ != Phase::kBeforeStart) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "a resume after the start of a connection");
  }
  CheckVersion(message);
  ReadCommonFields(message);
  const int nbest = ReadNBest(message);
  const ResumeRequest resume{message->String("token"), nbest};
  if (resume.token.empty() || resume.token.size() > kMaxSnapshotTokenBytes) {
    message->Fail("token", "the token of a snapshot message");
  }
  message->CheckAllTaken();
  // Without "nbest", the final update has as many results as the stream was started with.
  nbest_ = static_cast<size_t>(nbest > 0 ? nbest : kMaxNBest);
  phase_ = Phase::kAudio;
  return resume;
}

ClientRequest RunnelProtocol::ReadFinish() {
  if (phase_ != Phase::kAudio) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, phase_ == Phase::kFinished
                                                          ? "a second finish in one connection"
                                                          : "finish before start");
  }
  if (decoder_->num_waiting_bytes() > 0) {
    throw ClientMistake(
        ErrorCode::kOddBytes,
        "the audio ends within a sample: " + std::to_string(decoder_->num_waiting_bytes()) +
            " bytes are left over after whole samples of " + NameOf(decoder_->encoding()));
  }
  phase_ = Phase::kFinished;
  return FinishRequest{};
}

ClientRequest RunnelProtocol::ReadAudio(std::string_view bytes) {
  if (phase_ != Phase::kAudio) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder,
                        phase_ == Phase::kFinished ? "audio after finish" : "audio before start");
  }
  return AudioRequest{decoder_->Decode(bytes)};
}

std::vector<std::string> RunnelProtocol::OnReady(const SessionInfo& info) {
  decoder_->SetSampleRate(info.options.sample_rate_hz);
  OrderedJson ready = {{"type", info.num_samples < 0 ? "ready" : "resumed"},
                       {"version", kVersion},
                       {"session", info.session_id},
                       {"sample_rate", info.options.sample_rate_hz},
                       {"encoding", NameOf(decoder_->encoding())},
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
    return {FinalMessage(update, nbest_, wants_tokens_, tokens_)};
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
