#include "tools/server/riva/riva_models.h"

#include <string>

#include "runtime/text/printable.h"
#include "tools/server/protocol/message_text.h"

namespace runnel::server {

std::optional<ProtocolError> ListModels(
    const nvidia::riva::asr::RivaSpeechRecognitionConfigRequest& request, const RivaModel& model,
    nvidia::riva::asr::RivaSpeechRecognitionConfigResponse* response) {
  if (!request.model_name().empty() && request.model_name() != model.name) {
    return ProtocolError{ErrorCode::kBadOption, "model_name is " + Quoted(request.model_name()) +
                                                    ", expected " + Quoted(model.name) +
                                                    " or nothing"};
  }
  std::string languages;
  for (const std::string& language : model.languages) {
    languages += (languages.empty() ? "" : ",") + language;
  }
  for (const char* type : {"online", "offline"}) {
    auto* config = response->add_model_config();
    config->set_model_name(ValidText(model.name));
    auto& parameters = *config->mutable_parameters();
    parameters["type"] = type;
    parameters["language_code"] = ValidText(languages);
    parameters["sample_rate"] = std::to_string(model.sample_rate_hz);
    parameters["streaming"] = type == std::string("online") ? "True" : "False";
  }
  return std::nullopt;
}

}  // namespace runnel::server
