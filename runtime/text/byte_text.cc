#include "runtime/text/byte_text.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "runtime/text/utf8.h"

namespace runnel {
namespace {

// Whether more bytes may make a character of these, which are none yet.
bool IsUnfinished(std::string_view bytes) {
  // The lowest second byte depends on the first one.
  constexpr std::string_view kContinuations[] = {"\x80\x80\x80", "\x90\x80\x80", "\xA0\x80\x80"};
  return std::any_of(std::begin(kContinuations), std::end(kContinuations), [&](auto continuation) {
    return CharacterLength(std::string(bytes).append(continuation), 0) > bytes.size();
  });
}

}  // namespace

DecodedCharacter FirstCharacter(std::string_view bytes) {
  if (bytes.empty() || IsUnfinished(bytes)) return {};
  return FirstCharacterOfAll(bytes);
}

DecodedCharacter FirstCharacterOfAll(std::string_view bytes) {
  if (bytes.empty()) return {};
  const size_t length = CharacterLength(bytes, 0);
  if (length == 0) return {std::string(kReplacementCharacter), 1};
  return {std::string(bytes.substr(0, length)), length};
}

int ByteOfName(std::string_view name) {
  constexpr std::string_view kStart = "<0x";
  constexpr size_t kSize = kStart.size() + 3;  // two digits and '>'
  if (name.size() != kSize || name.substr(0, kStart.size()) != kStart || name.back() != '>') {
    return -1;
  }
  int byte = 0;
  const char* end = name.data() + kSize - 1;
  const auto [parsed_end, error] = std::from_chars(name.data() + kStart.size(), end, byte, 16);
  return error == std::errc() && parsed_end == end ? byte : -1;
}

}  // namespace runnel
