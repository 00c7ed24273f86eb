// Requests of POST /v1/recognize, and their reply.
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "runtime/text/printable.h"
#include "tools/json/json_text.h"
#include "tools/server/protocol/result_messages.h"
#include "tools/server/protocol/start_options.h"
#include "tools/server/protocol/typed_text.h"
#include "tools/server/recordings/recording_request.h"

namespace runnel::server {
namespace {

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
    if (result.announced_ms.has_value()) {
      BeginField("announced_ms", &body);
      AppendNumber(*result.announced_ms, &body);
      body += '}';
    }
    if (!result.warnings.empty()) {
      BeginField("warnings", &body);
      body += JsonText(result.warnings) + '}';
    }
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

}  // namespace

RecordingRequest ReadRecognizeRequest(std::vector<std::pair<std::string, std::string>> query,
                                      std::string body, const TokenTable& tokens) {
  RecordingRequest request;
  try {
    request.recording.audio_track = TakeAudioTrack(&query);
    request.recording.start = ReadStartQuery(query, tokens);
  } catch (const std::runtime_error& error) {
    throw FieldMistake(ErrorCode::kBadOption, "", error.what());
  }
  request.format =
      std::make_unique<RecognizeFormat>(request.recording.start.options.values.stream.nbest);
  request.recording.audio_size = body.size();
  request.recording.body = std::move(body);
  return request;
}

}  // namespace runnel::server
