#include "runtime/text/utf8.h"

namespace runnel {

size_t CharacterLength(std::string_view text, size_t i) {
  const auto byte_at = [text](size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U;
  };
  const unsigned lead = byte_at(i);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  // The second byte has a narrower range after four of the leads.
  const unsigned lowest = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned highest = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte_at(i + 1) < lowest || byte_at(i + 1) > highest) return 0;
  for (size_t k = 2; k < length; ++k) {
    if (byte_at(i + k) < 0x80 || byte_at(i + k) > 0xBF) return 0;
  }
  return length;
}

bool IsUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const size_t length = CharacterLength(text, i);
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::vector<std::string_view> SplitCharacters(std::string_view text) {
  std::vector<std::string_view> characters;
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    while (end < text.size() && !BeginsCharacter(text[end])) ++end;
    characters.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return characters;
}

char32_t CodePoint(std::string_view character) {
  // The first byte's marker, by the character's length.
  constexpr unsigned char kMarkers[] = {0, 0, 0xC0, 0xE0, 0xF0};
  char32_t code_point = static_cast<unsigned char>(character.front()) - kMarkers[character.size()];
  for (const char c : character.substr(1)) {
    code_point = code_point << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  }
  return code_point;
}

std::string Character(char32_t code_point) {
  const auto byte = [](char32_t value) {
    return static_cast<char>(static_cast<unsigned char>(value));
  };
  const auto continuation = [code_point, byte](unsigned shift) {
    return byte(0x80U | (code_point >> shift & 0x3FU));
  };
  if (code_point < 0x80) return {byte(code_point)};
  if (code_point < 0x800) return {byte(0xC0U | code_point >> 6U), continuation(0)};
  if (code_point < 0x10000) {
    return {byte(0xE0U | code_point >> 12U), continuation(6), continuation(0)};
  }
  return {byte(0xF0U | code_point >> 18U), continuation(12), continuation(6), continuation(0)};
}

std::string_view TrimmedLine(std::string_view line, bool is_first) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (is_first && line.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    line.remove_prefix(kByteOrderMark.size());
  }
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

}  // namespace runnel
