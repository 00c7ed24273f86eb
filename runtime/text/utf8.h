// UTF-8: validation, characters, code points and lines of files.
#ifndef RUNNEL_RUNTIME_TEXT_UTF8_H_
#define RUNNEL_RUNTIME_TEXT_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace runnel {

// True when `text` is well-formed UTF-8 (Unicode standard, table 3-7: no overlong forms, no
// surrogates, nothing above U+10FFFF). The empty text is well-formed.
bool IsUtf8(std::string_view text);

// Bytes of the well-formed character at text[i]; 0 where there is none.
size_t CharacterLength(std::string_view text, size_t i);

// Whether this byte of well-formed UTF-8 is the first of a character.
inline bool BeginsCharacter(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U;
}

// Whether this byte is a control character of ASCII, which terminals obey.
inline bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < ' ' || byte == 0x7F;
}

// The characters (code points) of `text`, which is well-formed.
std::vector<std::string_view> SplitCharacters(std::string_view text);

// The code point of one well-formed character, and the reverse.
char32_t CodePoint(std::string_view character);
std::string Character(char32_t code_point);

// A line of a text file without its LF: without the CR before that, and the first line without the
// byte order mark.
std::string_view TrimmedLine(std::string_view line, bool is_first);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_UTF8_H_
