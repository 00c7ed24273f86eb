#include "tools/decode/formats/display_width.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace runnel {
namespace {

struct Range {
  uint32_t first;
  uint32_t last;
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

bool IsWide(uint32_t character) {
  return std::any_of(kWide.begin(), kWide.end(), [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The character that begins with `text`, of which only the beginning is read.
uint32_t FirstCharacter(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return lead;
  uint32_t character = lead & (lead >= 0xF0 ? 0x07U : lead >= 0xE0 ? 0x0FU : 0x1FU);
  text.remove_prefix(1);
  for (; !text.empty() && IsContinuation(text.front()); text.remove_prefix(1)) {
    character = character << 6U | (static_cast<unsigned char>(text.front()) & 0x3FU);
  }
  return character;
}

}  // namespace

int DisplayWidth(std::string_view text) {
  int width = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (!IsContinuation(text.front())) width += IsWide(FirstCharacter(text)) ? 2 : 1;
  }
  return width;
}

}  // namespace runnel
