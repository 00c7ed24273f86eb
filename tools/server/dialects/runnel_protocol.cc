#include "tools/server/dialects/runnel_protocol.h"

#include <cstddef>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/live_update.h"
#include "runtime/text/printable.h"
#include "tools/cli/decimal.h"
#include "tools/json/hypothesis_json.h"
#include "tools/json/json_text.h"
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

bool RunnelProtocol::Recognizes(const ClientMessage& /*first*/, const nlohmann::json& json) {
  return json.contains("type");
}

bool RunnelProtocol::PreparesHotwords(std::string_view text) {
  return MayHaveMember(text, "hotwords");
}

bool RunnelProtocol::TakesLong(const ClientMessage& message) const {
  return Protocol::TakesLong(message) ||
         (message.is_text ? PreparesHotwords(message.bytes) : decoder_->is_costly());
}

std::vector<ClientRequest> RunnelProtocol::Read(const ClientMessage& message) {
  if (phase_ == Phase::kOver) return {};
  return Checked(&phase_, [&] {
    return message.is_text ? std::vector<ClientRequest>{ReadText(message)}
                           : ReadAudio(message.bytes);
  });
}

std::vector<ClientRequest> RunnelProtocol::ReadMore(std::string_view rest) {
  return Checked(&phase_, [&] { return ReadAudio(rest); });
}

ClientRequest RunnelProtocol::ReadText(const ClientMessage& text) {
  const nlohmann::json json = ReadClientJson(text);
  const auto found = json.find("type");
  if (found == json.end() || !found->is_string()) {
    throw ClientMistake(ErrorCode::kBadMessage, R"(a message without a string "type")");
  }
  const auto type = found->get<std::string>();
  if (type == "ping") return ImmediateReply{JsonText(Pong(json))};

  JsonSection message(json, "", type);
  message.String("type");
  if (type == "start") return ReadStart(&message);
  if (type == "resume") return ReadResume(&message);
  if (type != "flush" && type != "finish" && type != "cancel") {
    throw ClientMistake(ErrorCode::kBadMessage,
                        "type is " + Printable(type, 40) +
                            ", expected start, resume, flush, finish, cancel or ping");
  }
  message.CheckAllTaken();
  if (type == "flush") return ReadFlush();
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
  if (message->Has("tokens")) parts_.tokens = message->Bool("tokens");
}

ClientRequest RunnelProtocol::ReadStart(JsonSection* message) {
  if (phase_ != Phase::kBeforeStart) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "a second start in one connection");
  }
  CheckVersion(message);
  ReadCommonFields(message);
  StartRequest start;
  ReadLiveOptions(message, &start.options);
  const int rate_hz = start.options.values.stream.sample_rate_hz;
  if (decoder_->encoding() == SampleEncoding::kOpus && rate_hz > 0 && !IsOpusRate(rate_hz)) {
    message->Fail(message->Has("sample_rate") ? "sample_rate" : "sample_rate_hz",
                  std::string(kOpusRatesText) + " with the encoding opus");
  }
  ReadStartOptions(message, tokens_, &start);
  if (message->Has("resume")) start.wants_snapshots = message->Bool("resume");
  message->CheckAllTaken();
  start.encoding = decoder_->encoding();
  start.wants_tokens = parts_.tokens;
  parts_.max_results = static_cast<size_t>(start.options.values.stream.nbest);
  phase_ = Phase::kAudio;
  return start;
}

ClientRequest RunnelProtocol::ReadResume(JsonSection* message) {
  if (phase_ != Phase::kBeforeStart) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "a resume after the start of a connection");
  }
  CheckVersion(message);
  ReadCommonFields(message);
  ResumeRequest resume;
  resume.token = message->String("token");
  resume.nbest = ReadNBest(message);
  if (message->Has("utterances")) {
    resume.num_utterances =
        message->Integer("utterances", 0, std::numeric_limits<int64_t>::max() / 2);
  }
  if (resume.token.empty() || resume.token.size() > kMaxSnapshotTokenBytes) {
    message->Fail("token", "the token of a snapshot message");
  }
  message->CheckAllTaken();
  // Without "nbest", an utterance has as many results as the stream was started with.
  parts_.max_results = static_cast<size_t>(resume.nbest > 0 ? resume.nbest : kMaxNBest);
  phase_ = Phase::kAudio;
  return resume;
}

void RunnelProtocol::RequireAudioPhase(const char* message) const {
  if (phase_ == Phase::kAudio) return;
  throw ClientMistake(
      ErrorCode::kUnsupportedOrder,
      std::string(message) + (phase_ == Phase::kFinished ? " after finish" : " before start"));
}

ClientRequest RunnelProtocol::ReadFlush() const {
  RequireAudioPhase("flush");
  return FlushRequest{};
}

ClientRequest RunnelProtocol::ReadFinish() {
  RequireAudioPhase("finish");
  if (decoder_->num_waiting_bytes() > 0) {
    throw ClientMistake(
        ErrorCode::kOddBytes,
        "the audio ends within a sample: " + std::to_string(decoder_->num_waiting_bytes()) +
            " bytes are left over after whole samples of " + NameOf(decoder_->encoding()));
  }
  phase_ = Phase::kFinished;
  return FinishRequest{};
}

std::vector<ClientRequest> RunnelProtocol::ReadAudio(std::string_view bytes) {
  RequireAudioPhase("audio");
  return ReadSamples(decoder_.get(), bytes);
}

std::vector<std::string> RunnelProtocol::OnReady(const SessionInfo& info) {
  OptionValues options;
  options.stream = info.options;
  const auto text_of = [&options](const char* name) {
    return std::get<std::string>(Get(StreamOptionOf(name), options));
  };
  decoder_->SetSampleRate(info.options.sample_rate_hz);
  OrderedJson ready = {{"type", info.num_samples < 0 ? "ready" : "resumed"},
                       {"version", kVersion},
                       {"session", info.session_id},
                       {"sample_rate", info.options.sample_rate_hz},
                       {"encoding", NameOf(decoder_->encoding())},
                       {"chunk_size", info.options.chunk_size},
                       {"left_context", info.options.left_context},
                       {"right_context", info.options.right_context},
                       {"cached_windows", info.options.cached_windows},
                       {"search", text_of("search")},
                       {"head", text_of("head")},
                       {"rescoring", info.options.search.rescoring.enabled},
                       {"language", info.options.language},
                       {"frame_ms", Rounded(info.encoder_frame_ms)},
                       {"model", info.model_name},
                       {"endpointing", EndpointingAsJson(info.options.endpoints)},
                       {"early_text", info.options.early_text.interval},
                       {"resume", info.keeps_snapshots}};
  if (info.num_samples >= 0) {
    ready["samples"] = info.num_samples;
    ready["utterances"] = info.first_utterance;
    first_utterance_ = info.first_utterance;
  }
  return {JsonText(ready)};
}

std::vector<std::string> RunnelProtocol::OnUtterances(const std::vector<Utterance>& utterances) {
  std::vector<std::string> texts;
  AppendMessages(utterances, utterances.size(), &texts);
  return texts;
}

void RunnelProtocol::AppendMessages(const std::vector<Utterance>& utterances, size_t count,
                                    std::vector<std::string>* texts) const {
  for (size_t i = 0; i < count; ++i) {
    if (utterances[i].index < first_utterance_) continue;
    texts->push_back(UtteranceMessage("utterance", utterances[i], parts_, tokens_));
  }
}

std::vector<std::string> RunnelProtocol::OnUpdate(const LiveUpdate& update) {
  const bool has_final = update.is_final && update.error.empty();
  const std::vector<Utterance>& utterances = update.utterances;
  std::vector<std::string> texts;
  AppendMessages(utterances, utterances.size() - (has_final ? 1 : 0), &texts);
  for (int64_t i = 0; update.error.empty() && i < update.num_empty_finalizations; ++i) {
    texts.push_back(JsonText({{"type", "flushed"}}));
  }
  if (!update.error.empty()) {
    texts.push_back(OnError({ErrorCode::kStreamFailed, update.error}).front());
  } else if (has_final) {
    phase_ = Phase::kOver;
    texts.push_back(UtteranceMessage("final", utterances.back(), parts_, tokens_));
  } else if (update.utterance_index >= first_utterance_) {
    texts.push_back(Partial(update));
  }
  return texts;
}

std::string RunnelProtocol::Partial(const LiveUpdate& update) {
  if (update.stable_size_before == 0) num_stable_characters_ = 0;
  const std::string stable_text = ValidText(update.stable_text);
  const int64_t stable_offset = num_stable_characters_;
  num_stable_characters_ += NumCharacters(stable_text);
  OrderedJson partial = {{"type", "partial"},
                         {"utterance", update.utterance_index},
                         {"stable_text", stable_text},
                         {"tentative_text", update.tentative_text},
                         {"begins_word", update.begins_word},
                         {"stable_offset", stable_offset},
                         {"stable_length", num_stable_characters_},
                         {"audio_ms", Rounded(update.audio_ms)},
                         {"latency_ms", Rounded(update.latency_ms)}};
  if (!parts_.tokens) return JsonText(partial);
  partial["stable_tokens"] = update.num_stable_tokens;
  std::string text = JsonText(partial);
  BeginField("tokens", &text);
  AppendTokens(update.tokens, tokens_, &text);
  return text + '}';
}

std::vector<std::string> RunnelProtocol::OnSnapshot(const std::string& token, int64_t num_samples) {
  return {JsonText({{"type", "snapshot"}, {"token", token}, {"samples", num_samples}})};
}

std::vector<std::string> RunnelProtocol::OnError(const ProtocolError& error) {
  phase_ = Phase::kOver;
  return {ErrorText(error)};
}

}  // namespace runnel::server
