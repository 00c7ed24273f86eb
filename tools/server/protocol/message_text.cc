#include "tools/server/protocol/message_text.h"

#include <algorithm>

#include "runtime/text/utf8.h"
#include "tools/json/json_text.h"

namespace runnel::server {

std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7F; },
      ' ');
  return text;
}

std::string ValidText(const std::string& text) {
  if (IsUtf8(text)) return text;
  return OrderedJson::parse(JsonText(text)).get<std::string>();
}

int64_t NumCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](unsigned char byte) {
    return (byte & 0xC0) != 0x80;  // not a continuation byte
  });
}

}  // namespace runnel::server
