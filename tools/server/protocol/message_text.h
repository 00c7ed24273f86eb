// Text in messages.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_MESSAGE_TEXT_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_MESSAGE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace runnel::server {

// `text` with a space for every control character, line breaks included.
std::string OneLine(std::string text);

// `text` with U+FFFD for bytes that are not UTF-8, as in JsonText.
std::string ValidText(const std::string& text);

// The number of characters (Unicode code points) of UTF-8 text.
int64_t NumCharacters(std::string_view text);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_MESSAGE_TEXT_H_
