// Reads the JSON text of clients, with limits on its size and depth and without duplicate keys.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_CLIENT_JSON_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_CLIENT_JSON_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tools/server/protocol/protocol_error.h"

namespace runnel::server {

// The largest text message without audio. Control messages are much smaller.
constexpr size_t kMaxControlBytes = 64 << 10;

// A client's message is wrong. Thrown within the protocols, never out of Protocol's methods.
class ClientMistake : public std::runtime_error {
 public:
  ClientMistake(ErrorCode code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// The object in a text message. Throws ClientMistake with kMessageTooLarge or kBadJson.
nlohmann::json ReadClientJson(std::string_view text, size_t max_bytes = kMaxControlBytes);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_CLIENT_JSON_H_
