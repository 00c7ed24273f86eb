#include "tools/client/protocol_messages.h"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace runnel::client {
namespace {

// Bytes of an invalid message that an error shows.
constexpr size_t kShownSize = 80;

}  // namespace

void FailToRead(std::string_view message, const std::string& reason) {
  std::string shown(message.substr(0, kShownSize));
  std::replace_if(
      shown.begin(), shown.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  throw std::runtime_error("the server's message '" + shown + "' " + reason);
}

nlohmann::json ParseObject(std::string_view message) {
  nlohmann::json object = nlohmann::json::parse(message, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) FailToRead(message, "is no JSON object");
  return object;
}

void AppendSegment(const std::string& segment, std::string* text) {
  if (segment.empty()) return;
  if (!text->empty()) *text += ' ';
  *text += segment;
}

}  // namespace runnel::client
