#include "tools/server/protocol/client_json.h"

#include "encoder/json/json_text.h"

namespace runnel::server {

nlohmann::json ReadClientJson(std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    throw ClientMistake(ErrorCode::kMessageTooLarge,
                        "a text message has " + std::to_string(text.size()) +
                            " bytes, expected at most " + std::to_string(max_bytes));
  }
  nlohmann::json value;
  try {
    value = ParseJsonText(std::string(text), "message", "text");
  } catch (const std::runtime_error& error) {
    throw ClientMistake(ErrorCode::kBadJson, error.what());
  }
  if (!value.is_object()) {
    throw ClientMistake(ErrorCode::kBadJson,
                        "message: JSON " + std::string(value.type_name()) + ", expected an object");
  }
  return value;
}

}  // namespace runnel::server
