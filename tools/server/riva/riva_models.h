// The list of models that NVIDIA Riva's clients can ask for.
#ifndef RUNNEL_TOOLS_SERVER_RIVA_RIVA_MODELS_H_
#define RUNNEL_TOOLS_SERVER_RIVA_RIVA_MODELS_H_

#include <optional>

#include "riva_asr.pb.h"
#include "tools/server/protocol/protocol_error.h"
#include "tools/server/riva/riva_config.h"

namespace runnel::server {

// The model of the server as two configs, for streams ("online") and for recordings ("offline"),
// with the parameters that the clients require. The error when the client asks for another model.
std::optional<ProtocolError> ListModels(
    const nvidia::riva::asr::RivaSpeechRecognitionConfigRequest& request, const RivaModel& model,
    nvidia::riva::asr::RivaSpeechRecognitionConfigResponse* response);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_RIVA_RIVA_MODELS_H_
