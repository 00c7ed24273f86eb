// Requests of POST /v1/recognize, and their reply.
#include <stdexcept>

#include "tools/json/json_text.h"
#include "tools/server/protocol/result_messages.h"
#include "tools/server/protocol/start_options.h"
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

}  // namespace

RecordingRequest ReadRecognizeRequest(const std::vector<std::pair<std::string, std::string>>& query,
                                      std::string body, const TokenTable& tokens) {
  RecordingRequest request;
  try {
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
