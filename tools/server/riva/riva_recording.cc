#include "tools/server/riva/riva_recording.h"

#include <utility>

#include "riva_asr.pb.h"
#include "tools/server/protocol/client_json.h"

namespace runnel::server {

RivaRecordingRequest ReadRivaRecording(std::string_view message, const RivaModel& model,
                                       const std::string& call_id) {
  nvidia::riva::asr::RecognizeRequest request;
  if (!request.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    throw ClientMistake(ErrorCode::kBadMessage, "the message is not a RecognizeRequest");
  }
  RivaRecordingRequest result;
  result.recording.start = ReadRivaConfig(request.config(), model);
  result.recording.body =
      RecordingFile(request.config(), std::move(*request.mutable_audio()), model);
  result.recording.audio_size = result.recording.body.size();
  result.parts = PartsOf(request.config(), model);
  result.id = ResponseId(request.id(), call_id);
  return result;
}

}  // namespace runnel::server
