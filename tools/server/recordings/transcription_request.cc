// Requests of OpenAI's POST /v1/audio/transcriptions.
#include <memory>
#include <stdexcept>

#include "runtime/text/printable.h"
#include "tools/server/protocol/message_text.h"
#include "tools/server/protocol/openai_options.h"
#include "tools/server/protocol/typed_text.h"
#include "tools/server/recordings/multipart_form.h"
#include "tools/server/recordings/recording_request.h"
#include "tools/server/recordings/transcription_formats.h"

namespace runnel::server {
namespace {

constexpr char kVad[] = "chunking_strategy";
constexpr char kVadType[] = "chunking_strategy[type]";
constexpr char kVadSilence[] = "chunking_strategy[silence_duration_ms]";

[[noreturn]] void Refuse(const std::string& field, std::string_view value,
                         const std::string& expected) {
  throw FieldMistake(ErrorCode::kBadOption, field,
                     field + " is " + Quoted(value) + ", expected " + expected);
}

// Takes an index of a list from the end of a field's name: "[]" or "[0]".
void DropIndex(std::string* name) {
  if (name->empty() || name->back() != ']') return;
  const size_t begin = name->find_last_not_of("0123456789", name->size() - 2);
  if (begin != std::string::npos && begin > 0 && (*name)[begin] == '[') name->resize(begin);
}

// The fields of a form. Web forms send all of their fields: an empty one counts as none.
class Form {
 public:
  explicit Form(std::vector<FormPart> parts) {
    for (FormPart& part : parts) {
      if (part.value.empty()) continue;
      DropIndex(&part.name);
      parts_.push_back(std::move(part));
    }
  }

  std::vector<std::string_view> All(std::string_view name) const {
    std::vector<std::string_view> values;
    for (const FormPart& part : parts_) {
      if (part.name == name) values.push_back(part.value);
    }
    return values;
  }

  // The value of a field that is not a list.
  std::optional<std::string_view> One(const std::string& name) const {
    const std::vector<std::string_view> values = All(name);
    if (values.size() > 1) {
      throw FieldMistake(ErrorCode::kBadOption, name, name + " is there twice");
    }
    return values.empty() ? std::nullopt : std::optional(values.front());
  }

  std::string Text(const std::string& name, const std::string& otherwise) const {
    const auto value = One(name);
    if (!value.has_value()) return otherwise;
    if (value->size() > kMaxControlBytes) {
      throw FieldMistake(ErrorCode::kBadOption, name,
                         name + " has more than " + std::to_string(kMaxControlBytes) + " bytes");
    }
    return ValidText(std::string(*value));
  }

  bool Flag(const std::string& name) const {
    const std::string value = Text(name, "false");
    const std::optional<bool> flag = FlagIn(value);
    if (!flag.has_value()) Refuse(name, value, "true or false");
    return *flag;
  }

 private:
  std::vector<FormPart> parts_;
};

// An utterance ends in silence if the client asks for chunks.
void ReadChunking(const Form& form, ChosenOptions* options) {
  const std::string strategy = form.Text(kVad, form.Text(kVadType, ""));
  if (strategy.empty()) return;
  if (strategy != "auto" && strategy != "server_vad") Refuse(kVad, strategy, "auto or server_vad");
  options->Set("endpointing", true);
  const std::string silence = form.Text(kVadSilence, "");
  if (silence.empty()) return;
  const std::optional<double> silence_ms = NumberIn<double>(silence);
  if (!silence_ms.has_value() || *silence_ms < 0) {
    Refuse(kVadSilence, silence, "a number of milliseconds");
  }
  EndAfter(AllowedSilenceMs(*silence_ms), options);
}

VerboseParts ReadGranularities(const Form& form) {
  constexpr char kField[] = "timestamp_granularities";
  const std::vector<std::string_view> values = form.All(kField);
  if (values.empty()) return {};
  VerboseParts parts{/*segments=*/false, /*words=*/false};
  for (const std::string_view value : values) {
    if (value != "word" && value != "segment") Refuse(kField, value, "word or segment");
    (value == "word" ? parts.words : parts.segments) = true;
  }
  return parts;
}

std::unique_ptr<RecordingFormat> ReadFormat(const Form& form, const std::string& language) {
  constexpr char kField[] = "response_format";
  const std::string name = form.Text(kField, "json");
  const VerboseParts parts = ReadGranularities(form);
  if (form.Flag("stream")) {
    if (name != "json" && name != "text") Refuse(kField, name, "json or text with stream");
    return std::make_unique<TranscriptionEvents>();
  }
  if (name == "json") return std::make_unique<TranscriptionJson>();
  if (name == "text") return std::make_unique<TranscriptionText>();
  if (name == "verbose_json") return std::make_unique<TranscriptionVerbose>(parts, language);
  if (name == "srt") return std::make_unique<TranscriptionCaptions>(OutputFormat::kSrt);
  if (name == "vtt") return std::make_unique<TranscriptionCaptions>(OutputFormat::kVtt);
  if (name == "diarized_json") {
    Refuse(kField, name, "another format: this server does not tell speakers apart");
  }
  Refuse(kField, name, "json, text, srt, verbose_json or vtt");
}

// Segments and captions are utterances.
bool ShowsUtterances(const Form& form) {
  const std::string name = form.Text("response_format", "json");
  return name == "srt" || name == "vtt" || name == "verbose_json";
}

std::string ReadLanguage(const Form& form) {
  const std::vector<std::string_view> languages = form.All("languages");
  return form.Text("language", languages.empty() ? "" : ValidText(std::string(languages.front())));
}

}  // namespace

std::vector<FormPart> ReadFileForm(std::string_view content_type, Recording* recording) {
  std::vector<FormPart> parts;
  try {
    parts = ReadMultipartForm(content_type, recording->body);
  } catch (const std::runtime_error& error) {
    throw FieldMistake(ErrorCode::kBadMessage, "", error.what());
  }
  const std::optional<std::string_view> file = Form(parts).One("file");
  if (!file.has_value()) {
    throw FieldMistake(ErrorCode::kBadOption, "file",
                       "file is missing or empty, expected an audio file");
  }
  recording->audio_begin = static_cast<size_t>(file->data() - recording->body.data());
  recording->audio_size = file->size();
  return parts;
}

RecordingRequest ReadTranscriptionRequest(std::string_view content_type, std::string body,
                                          const TokenTable& tokens) {
  RecordingRequest request;
  Recording& recording = request.recording;
  recording.body = std::move(body);
  const Form form(ReadFileForm(content_type, &recording));
  const std::string language = ReadLanguage(form);
  request.format = ReadFormat(form, language);
  StartRequest& start = recording.start;
  ReadChunking(form, &start.options);
  if (ShowsUtterances(form)) start.options.Set("endpointing", true);
  start.options.SetHotwords(KeywordHotwords(form.All("keywords"), form.Text("prompt", ""), tokens));
  if (!language.empty()) start.language_hint = language;
  return request;
}

}  // namespace runnel::server
