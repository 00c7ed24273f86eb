#include "tools/server/dialects/wyoming_protocol.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "encoder/json/json_section.h"
#include "runtime/live_update.h"
#include "runtime/text/printable.h"
#include "runtime/version.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/start_options.h"
#include "tools/server/samples/raw_media_decoder.h"

namespace runnel::server {
namespace {

constexpr char kChunk[] = "audio-chunk";

// The upper 16 bits of little-endian samples of 32 bits.
std::string Upper16(std::string_view samples) {
  std::string upper;
  upper.reserve(samples.size() / 2);
  for (size_t i = 0; i + 4 <= samples.size(); i += 4) upper += samples.substr(i + 2, 2);
  return upper;
}

}  // namespace

std::string WyomingInfo(const std::string& model_name, const std::vector<std::string>& languages) {
  const OrderedJson attribution = {{"name", "Runnel"}, {"url", ""}};
  const OrderedJson model = {{"name", model_name},
                             {"attribution", attribution},
                             {"installed", true},
                             {"languages", languages}};
  const OrderedJson program = {{"name", "runnel"},
                               {"attribution", attribution},
                               {"installed", true},
                               {"description", "streaming speech recognition"},
                               {"version", RUNNEL_VERSION},
                               {"models", OrderedJson::array({model})},
                               {"supports_transcript_streaming", true}};
  return WyomingText("info", {{"asr", OrderedJson::array({program})}});
}

// JSON takes longer than samples.
bool WyomingProtocol::TakesLong(const ClientMessage& message) const {
  if (message.bytes.size() <= kShortTextBytes) return false;
  if (Protocol::TakesLong(message)) return true;
  try {
    const auto frame = ReadWyomingFrame(message.bytes, message.bytes.size());
    return frame.has_value() && frame->json_size > kShortTextBytes;
  } catch (const ClientMistake&) {
    return false;  // Read stops at the same place
  }
}

std::vector<ClientRequest> WyomingProtocol::Read(const ClientMessage& message) {
  if (phase_ == Phase::kOver) return {};
  return Checked(&phase_, [&] { return ReadEvent(ReadWyomingEvent(message.bytes)); });
}

std::vector<ClientRequest> WyomingProtocol::ReadEvent(const WyomingEvent& event) {
  if (event.type == kChunk) return ReadChunk(event);
  if (event.type == kStart) return ReadStart(event);
  if (event.type == "audio-stop") return ReadStop();
  if (event.type == "transcribe") return ReadTranscribe(event);
  if (event.type == "describe") return {ImmediateReply{info_}};
  if (event.type == "ping") {
    OrderedJson data = OrderedJson::object();
    const auto text = event.data.find("text");
    if (text != event.data.end()) data["text"] = *text;
    return {ImmediateReply{WyomingText("pong", data)}};
  }
  return {};  // of other services
}

std::vector<ClientRequest> WyomingProtocol::ReadTranscribe(const WyomingEvent& event) {
  if (phase_ != Phase::kBeforeStart) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "transcribe before the audio-stop");
  }
  JsonSection data(event.data, "", event.type);
  if (data.Has("language") && !data.IsNull("language")) {
    start_.language_hint = data.String("language");
  }
  return {};
}

WyomingProtocol::Format WyomingProtocol::ReadFormat(const WyomingEvent& event) {
  JsonSection data(event.data, "", event.type);
  Format format;
  format.rate_hz =
      static_cast<int>(data.Integer("rate", StreamOptions::kMinRate, StreamOptions::kMaxRate));
  format.bytes_per_sample = static_cast<int>(data.Integer("width", 2, 4));
  if (format.bytes_per_sample == 3) data.Fail("width", "2 or 4");
  format.channels = static_cast<int>(data.Integer("channels", 1, kMaxChannels));
  return format;
}

std::vector<ClientRequest> WyomingProtocol::ReadStart(const WyomingEvent& event) {
  if (phase_ != Phase::kBeforeStart) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "audio-start before the audio-stop");
  }
  format_ = ReadFormat(event);
  decoder_ =
      std::make_unique<RawMediaDecoder>(SampleEncoding::kPcm16, format_.rate_hz, format_.channels);
  start_.options.values.stream.sample_rate_hz = format_.rate_hz;
  start_.options.Set("endpointing", false);  // the client ends the utterance
  phase_ = Phase::kAudio;
  return {start_};
}

std::vector<ClientRequest> WyomingProtocol::ReadChunk(const WyomingEvent& event) {
  if (phase_ != Phase::kAudio) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "audio-chunk before an audio-start");
  }
  const Format format = ReadFormat(event);
  if (format.rate_hz != format_.rate_hz || format.bytes_per_sample != format_.bytes_per_sample ||
      format.channels != format_.channels) {
    throw ClientMistake(ErrorCode::kBadOption,
                        "audio-chunk: the format differs from that of audio-start");
  }
  const size_t frame_bytes =
      static_cast<size_t>(format.bytes_per_sample) * static_cast<size_t>(format.channels);
  if (event.payload.size() % frame_bytes != 0) {
    throw ClientMistake(ErrorCode::kOddBytes,
                        "audio-chunk: the payload has " + std::to_string(event.payload.size()) +
                            " bytes, expected a multiple of " + std::to_string(frame_bytes));
  }
  return ReadAudio(event.payload, event.size - event.payload.size());
}

std::vector<ClientRequest> WyomingProtocol::ReadMore(std::string_view rest) {
  return ReadAudio(rest, 0);
}

std::vector<ClientRequest> WyomingProtocol::ReadAudio(std::string_view payload, size_t num_before) {
  const std::string_view part = payload.substr(0, kPartBytes);  // of whole samples
  std::vector<ClientRequest> requests;
  requests.emplace_back(AudioRequest{
      decoder_->Decode(format_.bytes_per_sample == 2 ? std::string(part) : Upper16(part))});
  if (part.size() < payload.size()) requests.emplace_back(MoreRequest{num_before + part.size()});
  return requests;
}

std::vector<ClientRequest> WyomingProtocol::ReadStop() {
  if (phase_ != Phase::kAudio) {
    throw ClientMistake(ErrorCode::kUnsupportedOrder, "audio-stop before an audio-start");
  }
  phase_ = Phase::kOver;
  return {FinishRequest{}};
}

std::vector<std::string> WyomingProtocol::OnReady(const SessionInfo& info) {
  language_ = info.options.language;
  return {};
}

OrderedJson WyomingProtocol::WithLanguage(OrderedJson fields) const {
  if (!language_.empty()) fields["language"] = language_;
  return fields;
}

void WyomingProtocol::BeginTranscript(std::vector<std::string>* texts) {
  if (std::exchange(has_begun_, true)) return;
  texts->push_back(WyomingText("transcript-start", WithLanguage(OrderedJson::object())));
}

void WyomingProtocol::AppendPiece(const std::string& piece, std::vector<std::string>* texts) {
  if (piece.empty()) return;
  BeginTranscript(texts);
  texts->push_back(WyomingText("transcript-chunk", {{"text", piece}}));
}

std::vector<std::string> WyomingProtocol::OnUpdate(const LiveUpdate& update) {
  std::vector<std::string> texts;
  if (!update.is_final) {
    AppendPiece(text_.Add(update), &texts);
    return texts;
  }
  if (!update.error.empty()) return OnError({ErrorCode::kStreamFailed, update.error});
  phase_ = Phase::kOver;
  const Utterance& utterance = update.utterances.back();
  const Hypothesis& best = utterance.nbest.front();
  if (!best.language.empty()) language_ = best.language;
  AppendPiece(text_.End(utterance), &texts);
  BeginTranscript(&texts);
  texts.push_back(WyomingText("transcript", WithLanguage({{"text", best.text}})));
  texts.push_back(WyomingText("transcript-stop", OrderedJson::object()));
  return texts;
}

std::vector<std::string> WyomingProtocol::OnError(const ProtocolError& error) {
  phase_ = Phase::kOver;
  return {
      WyomingText("error", {{"text", Printable(error.message)}, {"code", CodeName(error.code)}})};
}

}  // namespace runnel::server
