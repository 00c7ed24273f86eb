#include "tools/server/riva/riva_models.h"

#include <string>

#include "tools/server/protocol/message_text.h"

namespace runnel::server {

std::optional<ProtocolError> ListModels(
    const nvidia::riva::asr::RivaSpeechRecognitionConfigRequest& request, const RivaModel& model,
    nvidia::riva::asr::RivaSpeechRecognitionConfigResponse* response) {
  if (!request.model_name().empty() && request.model_name() != model.name) {
    constexpr size_t kMaxShownName = 40;
    return ProtocolError{ErrorCode::kBadOption, "model_name is '" +
                                                    request.model_name().substr(0, kMaxShownName) +
                                                    "', expected '" + model.name + "' or nothing"};
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
