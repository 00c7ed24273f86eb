// What the protocols of a client share: reading JSON, joining texts.
#ifndef RUNNEL_TOOLS_CLIENT_PROTOCOL_MESSAGES_H_
#define RUNNEL_TOOLS_CLIENT_PROTOCOL_MESSAGES_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "tools/client/client_protocol.h"

namespace runnel::client {

// Throws std::runtime_error, which shows the beginning of the message.
[[noreturn]] void FailToRead(std::string_view message, const std::string& reason);

// Throws as FailToRead when the message is something else.
nlohmann::json ParseObject(std::string_view message);

// Calls `read`; the error names the message when a field is missing or has a wrong type.
template <typename Read>
ServerMessage ReadFields(std::string_view message, const Read& read) {
  try {
    return read(ParseObject(message));
  } catch (const nlohmann::json::exception&) {
    FailToRead(message, "lacks a field, or has one of another type");
  }
}

// Appends to `text`, after a space unless it is empty.
void AppendSegment(const std::string& segment, std::string* text);

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_PROTOCOL_MESSAGES_H_
