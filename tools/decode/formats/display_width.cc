#include "tools/decode/formats/display_width.h"

#include <algorithm>
#include <array>

#include "runtime/text/utf8.h"

namespace runnel {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array<Range, 8> kWide = {{
    {0x1100, 0x115F},    // Hangul Jamo, initial consonants
    {0x2E80, 0xA4CF},    // radicals to Yi: kana, ideographs
    {0xAC00, 0xD7A3},    // Hangul syllables
    {0xF900, 0xFAFF},    // compatibility ideographs
    {0xFE30, 0xFE6F},    // vertical and small forms
    {0xFF00, 0xFF60},    // full-width forms
    {0xFFE0, 0xFFE6},    // full-width signs
    {0x20000, 0x3FFFD},  // ideographs of planes 2 and 3
}};

bool IsWide(char32_t character) {
  return std::any_of(kWide.begin(), kWide.end(), [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

}  // namespace

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (const std::string_view character : SplitCharacters(text)) {
    width += IsUtf8(character) && IsWide(CodePoint(character)) ? 2 : 1;
  }
  return width;
}

}  // namespace runnel
