// Requests of POST /v1/recognize, and their reply.
#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "runtime/stream.h"
#include "runtime/text/printable.h"
#include "tools/cli/decimal.h"
#include "tools/json/json_text.h"
#include "tools/server/protocol/appended_text.h"
#include "tools/server/protocol/message_text.h"
#include "tools/server/protocol/result_messages.h"
#include "tools/server/protocol/start_options.h"
#include "tools/server/protocol/typed_text.h"
#include "tools/server/recordings/recording_request.h"
#include "tools/server/recordings/transcription_formats.h"

namespace runnel::server {
namespace {

// What was noticed of the file, as further fields of the object `json`.
void AddNotes(const RecordingResult& result, std::string* json) {
  if (result.announced_ms.has_value()) {
    BeginField("announced_ms", json);
    AppendNumber(*result.announced_ms, json);
    *json += '}';
  }
  if (!result.warnings.empty()) {
    BeginField("warnings", json);
    *json += JsonText(result.warnings) + '}';
  }
}

// The messages of Runnel's protocol.
class RecognizeFormat : public RecordingFormat {
 public:
  explicit RecognizeFormat(int nbest) : nbest_(static_cast<size_t>(nbest)) {}

  std::string Finish(const RecordingResult& result) override {
    const ResultParts parts{nbest_, /*tokens=*/true};
    std::string body =
        result.options.endpoints.enabled
            ? SegmentsReply(result.utterances, parts, result.tokens)
            : UtteranceMessage("final", result.utterances.back(), parts, result.tokens);
    AddNotes(result, &body);
    return body + '\n';
  }

 private:
  const size_t nbest_;
};

// Takes the field of the audio file itself out of the query. -1: it is missing.
int TakeAudioTrack(std::vector<std::pair<std::string, std::string>>* query) {
  const auto is_track = [](const auto& field) { return field.first == "audio_track"; };
  const auto found = std::find_if(query->begin(), query->end(), is_track);
  if (found == query->end()) return -1;
  const std::optional<int> track = NumberIn<int>(found->second);
  if (!track.has_value() || *track < 0) {
    throw std::runtime_error("query: audio_track is " + Quoted(found->second) +
                             ", expected a track counted from 0");
  }
  query->erase(found);
  return *track;
}

// The same messages as an event stream, while the recording is decoded: `begin`, `progress` with
// the text that became stable, `utterance`, and in the end `final`.
class RecognizeEvents : public EventStream {
 public:
  explicit RecognizeEvents(int nbest) : parts_{static_cast<size_t>(nbest), /*tokens=*/true} {}

  std::string Begin(const RecordingStart& start) override {
    tokens_ = &TextTokens(start.model, start.options);
    OrderedJson begin = {{"type", "begin"},
                         {"model", start.model.name()},
                         {"chunk_size", start.options.chunk_size},
                         {"right_context", start.options.right_context},
                         {"frame_ms", Rounded(start.model.encoder_frame_ms())}};
    if (start.duration_s.has_value()) begin["duration_ms"] = Rounded(*start.duration_s * 1000);
    return ServerSentEvent(JsonText(begin));
  }

  std::string Add(const LiveUpdate& update) override {
    std::string events;
    for (const Utterance& utterance : update.utterances) {
      text_.End(utterance);
      if (!update.is_final || &utterance != &update.utterances.back()) {
        events += ServerSentEvent(UtteranceMessage("utterance", utterance, parts_, *tokens_));
      }
    }
    if (update.is_final) return events;
    return events + ServerSentEvent(JsonText({{"type", "progress"},
                                              {"audio_ms", Rounded(update.audio_ms)},
                                              {"stable_text", text_.Add(update)},
                                              {"tentative_text", update.tentative_text},
                                              {"begins_word", update.begins_word}}));
  }

  std::string Finish(const RecordingResult& result) override {
    std::string last = UtteranceMessage("final", result.utterances.back(), parts_, result.tokens);
    AddNotes(result, &last);
    return ServerSentEvent(last);
  }

 private:
  const ResultParts parts_;
  const TokenTable* tokens_ = nullptr;  // of the texts, from Begin on
  AppendedText text_;
};

// Whether the value of a header Content-Type is of `type`.
bool HasType(std::string_view header, std::string_view type) {
  const std::string_view value = header.substr(0, header.find_first_of("; \t"));
  return std::equal(value.begin(), value.end(), type.begin(), type.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

// Takes the field "stream" away: whether the reply is an event stream.
bool TakeStream(std::vector<std::pair<std::string, std::string>>* fields) {
  const auto found = std::find_if(fields->begin(), fields->end(),
                                  [](const auto& field) { return field.first == "stream"; });
  if (found == fields->end()) return false;
  if (found->second != "true" && found->second != "false") {
    throw std::runtime_error("stream is " + Quoted(found->second) + ", expected true or false");
  }
  const bool streams = found->second == "true";
  fields->erase(found);
  return streams;
}

}  // namespace

RecordingRequest ReadRecognizeRequest(RecordingPost post, const TokenTable& tokens) {
  RecordingRequest request;
  Recording& recording = request.recording;
  recording.audio_size = post.body.size();
  recording.body = std::move(post.body);
  std::vector<std::pair<std::string, std::string>>& fields = post.query;
  if (HasType(post.content_type, "multipart/form-data")) {
    for (const FormPart& part : ReadFileForm(post.content_type, &recording)) {
      if (part.name != "file") fields.emplace_back(part.name, part.value);
    }
  } else if (HasType(post.content_type, "application/x-www-form-urlencoded")) {
    recording.advice = "; curl sends a file as it is with --data-binary @FILE, not with -d @FILE";
  }
  try {
    recording.audio_track = TakeAudioTrack(&fields);
    const bool streams = TakeStream(&fields);
    recording.start = ReadStartQuery(fields, tokens);
    const int nbest = recording.start.options.values.stream.nbest;
    if (streams) {
      request.format = std::make_unique<RecognizeEvents>(nbest);
    } else {
      request.format = std::make_unique<RecognizeFormat>(nbest);
    }
  } catch (const std::runtime_error& error) {
    throw FieldMistake(ErrorCode::kBadOption, "", error.what());
  }
  return request;
}

}  // namespace runnel::server
