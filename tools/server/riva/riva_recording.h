// Requests of NVIDIA Riva's Recognize.
#ifndef RUNNEL_TOOLS_SERVER_RIVA_RIVA_RECORDING_H_
#define RUNNEL_TOOLS_SERVER_RIVA_RIVA_RECORDING_H_

#include <string>
#include <string_view>

#include "tools/server/recordings/recording.h"
#include "tools/server/riva/riva_config.h"

namespace runnel::server {

struct RivaRecordingRequest {
  Recording recording;
  RivaParts parts;  // of the results
  std::string id;   // of the response
};

// `message`: a serialized RecognizeRequest. `call_id`: for clients that give no id. Throws
// ClientMistake with kBadMessage or kBadOption.
RivaRecordingRequest ReadRivaRecording(std::string_view message, const RivaModel& model,
                                       const std::string& call_id);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RIVA_RIVA_RECORDING_H_
