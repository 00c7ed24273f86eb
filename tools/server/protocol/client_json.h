// Reads the JSON text of clients, with limits on its size and depth and without duplicate keys.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_CLIENT_JSON_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_CLIENT_JSON_H_

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "tools/server/protocol/protocol.h"
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

// What to tell a client when its message cannot be read. Errors that are no ClientMistake are those
// of JsonSection, which mean kBadOption.
ProtocolError ErrorOf(const std::runtime_error& error);

// The requests that `read` returns. When it throws a mistake of the client, the error for it, and
// `phase` is Phase::kOver then.
template <typename Phase, typename Reading>
std::vector<ClientRequest> Checked(Phase* phase, const Reading& read) {
  try {
    return read();
  } catch (const std::runtime_error& error) {
    *phase = Phase::kOver;
    return {ErrorOf(error)};
  }
}

// The object in a text message. Throws ClientMistake with kMessageTooLarge or kBadJson.
nlohmann::json ReadClientJson(std::string_view text, size_t max_bytes = kMaxControlBytes);
// The same of a message, which is parsed once only.
nlohmann::json ReadClientJson(const ClientMessage& message);

// Whether the object in `text` may have a member `name` somewhere. Reads no JSON: the name is in
// the text, or an escape may stand for a letter of it.
bool MayHaveMember(std::string_view text, std::string_view name);

// The text of an object in two parts.
struct TextParts {
  std::string rest;         // the text without the characters of the string
  std::string_view string;  // as they are in the text; escapes are not decoded
  size_t string_begin = 0;  // where they begin in it
};

// Takes the first string out that is the member `name` of the object in `text`, so that a long one
// need not be parsed with the rest. `string` is empty when there is none. The text need not be
// JSON: parsing the rest will tell. Throws ClientMistake with kMessageTooLarge when the rest has
// more than kMaxControlBytes, after reading little more than these.
TextParts TakeStringOut(std::string_view text, std::string_view name);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_CLIENT_JSON_H_
