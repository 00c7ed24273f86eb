#include "runtime/text/printable.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "runtime/text/composition.h"
#include "runtime/text/utf8.h"

namespace runnel {
namespace {

constexpr size_t kMaxQuotedBytes = 80;
constexpr char32_t kNextLine = 0x85;
constexpr char32_t kLineSeparator = 0x2028;
constexpr char32_t kParagraphSeparator = 0x2029;

struct CodePoints {
  char32_t first;
  char32_t last;
};

// Controls, and format characters of Unicode. The joiners U+200C and U+200D belong to the text of
// many languages.
constexpr std::array<CodePoints, 11> kNotShown = {{{0x00, 0x1F},
                                                   {0x7F, 0x9F},
                                                   {0x61C, 0x61C},
                                                   {0x200B, 0x200B},
                                                   {0x200E, 0x200F},
                                                   {0x2028, 0x202E},
                                                   {0x2060, 0x206F},
                                                   {0xFEFF, 0xFEFF},
                                                   {0xFFF9, 0xFFFB},
                                                   {0x1D173, 0x1D17A},
                                                   {0xE0000, 0xE007F}}};

bool IsShown(char32_t code_point) {
  return std::none_of(kNotShown.begin(), kNotShown.end(), [&](const CodePoints& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

bool IsSpace(char32_t code_point) {
  return (code_point >= '\t' && code_point <= '\r') || code_point == kNextLine ||
         code_point == kLineSeparator || code_point == kParagraphSeparator;
}

void AppendEscape(const char* format, char32_t value, std::string* result) {
  char escape[16];
  std::snprintf(escape, sizeof(escape), format, static_cast<unsigned>(value));
  *result += escape;
}

// The bytes of the character that begins with `first`, if it is well-formed.
size_t CharacterSize(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

void AppendCharacter(std::string_view character, std::string* result) {
  const char32_t code_point = CodePoint(character);
  if (IsSpace(code_point)) {
    *result += ' ';
  } else if (IsShown(code_point)) {
    *result += character;
  } else {
    AppendEscape(code_point < 0x80      ? "\\x%02x"
                 : code_point < 0x10000 ? "\\u%04x"
                                        : "\\U%08x",
                 code_point, result);
  }
}

}  // namespace

std::string Printable(std::string_view text, size_t max_bytes) {
  std::string result;
  size_t i = 0;
  while (i < std::min(text.size(), max_bytes)) {
    const std::string_view character = text.substr(i, CharacterSize(text[i]));
    if (IsUtf8(character)) {
      AppendCharacter(character, &result);
      i += character.size();
    } else {
      AppendEscape("\\x%02x", static_cast<unsigned char>(text[i]), &result);
      ++i;
    }
  }
  if (i < text.size()) result += "...";
  return result;
}

std::string Quoted(std::string_view value) { return "'" + Printable(value, kMaxQuotedBytes) + "'"; }

std::string DecompositionNote(std::string_view text) {
  return DecomposedMarks(text).empty()
             ? ""
             : "; the text is decomposed (NFD), expected composed characters (NFC)";
}

}  // namespace runnel
