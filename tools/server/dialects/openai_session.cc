#include "tools/server/dialects/openai_session.h"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "encoder/json/json_text.h"
#include "tools/server/protocol/openai_options.h"

namespace runnel::server {
namespace {

using nlohmann::json;

constexpr int kPcmRateHz = 24000;
constexpr int kG711RateHz = 8000;
constexpr double kMostMs = 86400e3;

// The names of an encoding in both shapes.
struct Format {
  SampleEncoding encoding;
  const char* type;       // general
  const char* beta_name;  // beta
};
constexpr std::array<Format, 3> kFormats = {{{SampleEncoding::kPcm16, "audio/pcm", "pcm16"},
                                             {SampleEncoding::kMulaw, "audio/pcmu", "g711_ulaw"},
                                             {SampleEncoding::kAlaw, "audio/pcma", "g711_alaw"}}};

// The silence that ends an utterance with each "eagerness".
struct Eagerness {
  const char* name;
  double silence_ms;
};
constexpr std::array<Eagerness, 4> kEagerness = {
    {{"low", 2400}, {"medium", 1200}, {"auto", 1200}, {"high", 600}}};

[[noreturn]] void Refuse(const std::string& path, const json& value, const std::string& expected) {
  throw EventMistake("invalid_value", path,
                     path + " is " + ShownJson(value) + ", expected " + expected);
}

const json& ObjectAt(const json& value, std::string_view path) {
  if (!value.is_object()) Refuse(std::string(path), value, "an object");
  return value;
}

double NumberAt(const json& object, const char* field, double otherwise, double most,
                const std::string& path) {
  const auto found = object.find(field);
  if (found == object.end() || found->is_null()) return otherwise;
  const std::string name = path + "." + field;
  if (!found->is_number()) Refuse(name, *found, "a number");
  const auto number = found->get<double>();
  if (!(number >= 0 && number <= most)) {
    Refuse(name, *found, "a number from 0 to " + json(most).dump());
  }
  return number;
}

// The string `field` of an object; "" when it is missing.
std::string StringAt(const json& object, const char* field, const std::string& path) {
  const auto found = object.find(field);
  if (found == object.end() || found->is_null()) return "";
  if (!found->is_string()) Refuse(path + "." + field, *found, "a string");
  return found->get<std::string>();
}

std::vector<std::string> StringsAt(const json& object, const char* field, const std::string& path) {
  const auto found = object.find(field);
  std::vector<std::string> strings;
  if (found == object.end() || found->is_null()) return strings;
  if (!found->is_array()) Refuse(path + "." + field, *found, "a list of strings");
  for (const json& item : *found) {
    if (!item.is_string()) Refuse(path + "." + field, *found, "a list of strings");
    strings.push_back(item.get<std::string>());
  }
  return strings;
}

OrderedJson FormatJson(const Format& format, int rate_hz) {
  OrderedJson value = {{"type", format.type}};
  if (format.encoding == SampleEncoding::kPcm16) value["rate"] = rate_hz;
  return value;
}

const Format& FormatOf(const OrderedJson& value) {
  for (const Format& format : kFormats) {
    if (value["type"] == format.type) return format;
  }
  throw std::logic_error("a session with an unknown format");
}

}  // namespace

OpenAiSession::OpenAiSession(OpenAiShape shape, const std::string& id, const std::string& model)
    : shape_(shape), id_("sess_" + id), format_(FormatJson(kFormats[0], kPcmRateHz)) {
  if (!model.empty()) transcription_ = {{"model", model}};
  SetTurnDetection(json::object({{"type", "server_vad"}}), "turn_detection");
}

void OpenAiSession::Apply(const json& session) {
  ObjectAt(session, "session");
  const auto type = session.find("type");
  if (type != session.end() && *type != "transcription") {
    throw EventMistake("invalid_parameter", "session.type",
                       "session.type is " + ShownJson(*type) +
                           ", expected transcription: this server holds no conversations");
  }
  static const json kNone = json::object();
  const auto audio = session.find("audio");
  const json& general_audio = audio == session.end() ? kNone : ObjectAt(*audio, "session.audio");
  const auto input = general_audio.find("input");
  const json& general =
      input == general_audio.end() ? kNone : ObjectAt(*input, "session.audio.input");
  const auto apply = [&](const char* name, const char* beta_name,
                         void (OpenAiSession::*set)(const json&, const std::string&)) {
    if (const auto value = session.find(beta_name); value != session.end()) {
      (this->*set)(*value, std::string("session.") + beta_name);
    }
    if (const auto value = general.find(name); value != general.end()) {
      (this->*set)(*value, std::string("session.audio.input.") + name);
    }
  };
  apply("format", "input_audio_format", &OpenAiSession::SetFormat);
  apply("transcription", "input_audio_transcription", &OpenAiSession::SetTranscription);
  apply("turn_detection", "turn_detection", &OpenAiSession::SetTurnDetection);
  apply("noise_reduction", "input_audio_noise_reduction", &OpenAiSession::SetNoiseReduction);
  if (const auto include = session.find("include"); include != session.end()) {
    StringsAt(session, "include", "session");
    include_ = *include;
  }
}

void OpenAiSession::SetFormat(const json& format, const std::string& path) {
  for (const Format& known : kFormats) {
    if (format == known.beta_name) {
      format_ = FormatJson(known, kPcmRateHz);
      return;
    }
  }
  if (!format.is_object()) {
    Refuse(path, format, "audio/pcm, audio/pcmu or audio/pcma (pcm16, g711_ulaw or g711_alaw)");
  }
  const std::string type = StringAt(format, "type", path);
  for (const Format& known : kFormats) {
    if (type != known.type) continue;
    const bool is_pcm = known.encoding == SampleEncoding::kPcm16;
    const int own_rate_hz = is_pcm ? kPcmRateHz : kG711RateHz;
    const double rate_hz = NumberAt(format, "rate", own_rate_hz, StreamOptions::kMaxRate, path);
    if (is_pcm ? rate_hz < StreamOptions::kMinRate || rate_hz != std::floor(rate_hz)
               : rate_hz != own_rate_hz) {
      Refuse(path + ".rate", format["rate"],
             is_pcm ? "an integer from " + std::to_string(StreamOptions::kMinRate)
                    : std::to_string(kG711RateHz) + " with G.711");
    }
    format_ = FormatJson(known, static_cast<int>(rate_hz));
    return;
  }
  Refuse(path + ".type", type, "audio/pcm, audio/pcmu or audio/pcma");
}

void OpenAiSession::SetTranscription(const json& transcription, const std::string& path) {
  if (transcription.is_null()) {
    transcription_ = nullptr;
    return;
  }
  ObjectAt(transcription, path);
  constexpr std::array<const char*, 3> kTexts = {"model", "language", "prompt"};
  constexpr std::array<const char*, 2> kLists = {"keywords", "languages"};
  for (const char* field : kTexts) StringAt(transcription, field, path);
  for (const char* field : kLists) StringsAt(transcription, field, path);
  if (transcription_.is_null()) transcription_ = OrderedJson::object();
  // A field that is null is removed; one that is not there stays.
  const auto change = [&](const char* field) {
    const auto found = transcription.find(field);
    if (found == transcription.end()) return;
    if (found->is_null()) {
      transcription_.erase(field);
    } else {
      transcription_[field] = *found;
    }
  };
  for (const char* field : kTexts) change(field);
  for (const char* field : kLists) change(field);
}

void OpenAiSession::SetTurnDetection(const json& detection, const std::string& path) {
  if (detection.is_null()) {
    turn_detection_ = nullptr;
    return;
  }
  ObjectAt(detection, path);
  const std::string type = StringAt(detection, "type", path);
  if (type == "semantic_vad") {
    const std::string eagerness = StringAt(detection, "eagerness", path);
    for (const Eagerness& known : kEagerness) {
      if (eagerness != known.name && !(eagerness.empty() && std::string("auto") == known.name)) {
        continue;
      }
      turn_detection_ = {{"type", type}, {"eagerness", known.name}};
      return;
    }
    Refuse(path + ".eagerness", eagerness, "low, medium, high or auto");
  }
  if (!type.empty() && type != "server_vad") {
    Refuse(path + ".type", type, "server_vad, semantic_vad or no turn detection (null)");
  }
  constexpr double kDefaultThreshold = 0.5;
  constexpr double kDefaultPaddingMs = 300;
  const double silence_ms =
      NumberAt(detection, "silence_duration_ms", kDefaultSilenceMs, kMostMs, path);
  turn_detection_ = {
      {"type", "server_vad"},
      {"threshold", NumberAt(detection, "threshold", kDefaultThreshold, 1, path)},
      {"prefix_padding_ms",
       std::llround(NumberAt(detection, "prefix_padding_ms", kDefaultPaddingMs, kMostMs, path))},
      {"silence_duration_ms", std::llround(AllowedSilenceMs(silence_ms))}};
}

void OpenAiSession::SetNoiseReduction(const json& reduction, const std::string& path) {
  noise_reduction_ = nullptr;
  if (!reduction.is_null()) {
    noise_reduction_ = {{"type", StringAt(ObjectAt(reduction, path), "type", path)}};
  }
}

OrderedJson OpenAiSession::AsJson() const {
  OrderedJson session = {{"id", id_}, {"object", "realtime.transcription_session"}};
  if (shape_ == OpenAiShape::kBeta) {
    session["input_audio_format"] = FormatOf(format_).beta_name;
    session["input_audio_transcription"] = transcription_;
    session["turn_detection"] = turn_detection_;
    session["input_audio_noise_reduction"] = noise_reduction_;
    session["include"] = include_;
    return session;
  }
  session["type"] = "transcription";
  session["include"] = include_;
  session["audio"]["input"] = {{"format", format_},
                               {"transcription", transcription_},
                               {"noise_reduction", noise_reduction_},
                               {"turn_detection", turn_detection_}};
  return session;
}

SampleEncoding OpenAiSession::encoding() const { return FormatOf(format_).encoding; }

int OpenAiSession::sample_rate_hz() const {
  return encoding() == SampleEncoding::kPcm16 ? format_["rate"].get<int>() : kG711RateHz;
}

double OpenAiSession::prefix_padding_ms() const {
  return has_turn_detection() ? turn_detection_.value("prefix_padding_ms", 0.0) : 0;
}

double OpenAiSession::SilenceMs() const {
  for (const Eagerness& known : kEagerness) {
    if (turn_detection_.value("eagerness", "") == known.name) return known.silence_ms;
  }
  return turn_detection_["silence_duration_ms"].get<double>();
}

StartRequest OpenAiSession::MakeStart(const TokenTable& tokens) const {
  StartRequest start;
  start.encoding = encoding();
  start.options.values.stream.sample_rate_hz = sample_rate_hz();
  start.wants_tokens = false;
  if (has_turn_detection()) {
    EndAfter(SilenceMs(), &start.options);
  } else {
    start.options.Set("endpointing", false);  // the client commits
  }
  if (transcription_.is_null()) return start;
  const auto languages = transcription_.value("languages", std::vector<std::string>());
  const std::string language =
      transcription_.value("language", languages.empty() ? "" : languages.front());
  if (!language.empty()) start.language_hint = language;
  const auto keywords = transcription_.value("keywords", std::vector<std::string>());
  start.options.SetHotwords(KeywordHotwords({keywords.begin(), keywords.end()},
                                            transcription_.value("prompt", std::string()), tokens));
  return start;
}

bool OpenAiSession::HasStreamOf(const OpenAiSession& other) const {
  return format_ == other.format_ && transcription_ == other.transcription_ &&
         turn_detection_ == other.turn_detection_;
}

}  // namespace runnel::server
