// JSON text of clients, read so that none of it can do harm: bounded in size and depth, no key
// twice. Flow: socket -> Protocol (this) -> LiveStream -> Protocol -> socket.
#ifndef RUNNEL_TOOLS_SERVER_CLIENT_JSON_H_
#define RUNNEL_TOOLS_SERVER_CLIENT_JSON_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tools/server/protocol.h"

namespace runnel::server {

// A control message is small; whoever sends more has mistaken the protocol, or means harm.
constexpr size_t kMaxControlBytes = 64 << 10;

// Results that a client may ask for: more cost the other clients' time and help nobody.
constexpr int kMaxNBest = 100;

// What is wrong with a client's message. Thrown by the functions below and within the protocols,
// never out of Protocol.
class ClientMistake : public std::runtime_error {
 public:
  ClientMistake(ErrorCode code, const std::string& message)
      : std::runtime_error(message), code_(code) {}
  ErrorCode code() const { return code_; }

 private:
  ErrorCode code_;
};

// The object that a text message holds. Throws ClientMistake with kMessageTooLarge or kBadJson.
nlohmann::json ReadClientJson(std::string_view text);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_CLIENT_JSON_H_
