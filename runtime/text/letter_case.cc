#include "runtime/text/letter_case.h"

#include <cstddef>
#include <cstdint>

namespace runnel {
namespace {

// Code points whose cases are a fixed distance apart (Unicode Character Database, UnicodeData.txt).
struct CaseRange {
  uint32_t first_upper;
  uint32_t last_upper;
  uint32_t distance;  // from the upper to the lower case
  uint32_t step;      // 2: upper and lower case alternate
};

constexpr CaseRange kCaseRanges[] = {
    {'A', 'Z', 32, 1},      {0xC0, 0xD6, 32, 1},    {0xD8, 0xDE, 32, 1},   {0x100, 0x12E, 1, 2},
    {0x132, 0x136, 1, 2},   {0x139, 0x147, 1, 2},   {0x14A, 0x176, 1, 2},  {0x179, 0x17D, 1, 2},
    {0x1A0, 0x1A4, 1, 2},   {0x1AF, 0x1AF, 1, 1},   {0x1CD, 0x1DB, 1, 2},  {0x1DE, 0x1EE, 1, 2},
    {0x1F8, 0x21E, 1, 2},   {0x222, 0x232, 1, 2},   {0x386, 0x386, 38, 1}, {0x388, 0x38A, 37, 1},
    {0x38C, 0x38C, 64, 1},  {0x38E, 0x38F, 63, 1},  {0x391, 0x3A1, 32, 1}, {0x3A3, 0x3AB, 32, 1},
    {0x400, 0x40F, 80, 1},  {0x410, 0x42F, 32, 1},  {0x460, 0x480, 1, 2},  {0x48A, 0x4BE, 1, 2},
    {0x4C0, 0x4C0, 15, 1},  {0x4C1, 0x4CD, 1, 2},   {0x4D0, 0x52E, 1, 2},  {0x531, 0x556, 48, 1},
    {0x1E00, 0x1E94, 1, 2}, {0x1EA0, 0x1EFE, 1, 2},
};
constexpr uint32_t kUpperYDiaeresis = 0x178;
constexpr uint32_t kLowerYDiaeresis = 0xFF;

uint32_t ToLower(uint32_t c) {
  if (c == kUpperYDiaeresis) return kLowerYDiaeresis;
  for (const CaseRange& range : kCaseRanges) {
    if (c < range.first_upper || c > range.last_upper) continue;
    return (c - range.first_upper) % range.step == 0 ? c + range.distance : c;
  }
  return c;
}

uint32_t ToUpper(uint32_t c) {
  if (c == kLowerYDiaeresis) return kUpperYDiaeresis;
  for (const CaseRange& range : kCaseRanges) {
    const uint32_t first = range.first_upper + range.distance;
    if (c < first || c > range.last_upper + range.distance) continue;
    if ((c - first) % range.step == 0) return c - range.distance;
  }
  return c;
}

// Two bytes of UTF-8 hold 11 bits, three hold 16. No code point above U+FFFF has cases here.
uint32_t Bits(char c, uint32_t mask) { return static_cast<unsigned char>(c) & mask; }

void Append(uint32_t c, std::string* text) {
  if (c < 0x80) {
    *text += static_cast<char>(c);
  } else if (c < 0x800) {
    *text += static_cast<char>(0xC0U | (c >> 6));
    *text += static_cast<char>(0x80U | (c & 0x3FU));
  } else {
    *text += static_cast<char>(0xE0U | (c >> 12));
    *text += static_cast<char>(0x80U | ((c >> 6) & 0x3FU));
    *text += static_cast<char>(0x80U | (c & 0x3FU));
  }
}

template <typename Map>
std::string MapLetters(std::string_view text, Map map) {
  std::string mapped;
  mapped.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const uint32_t lead = Bits(text[i], 0xFF);
    if (lead < 0x80) {
      Append(map(lead), &mapped);
      i += 1;
    } else if (lead < 0xE0 && i + 1 < text.size()) {
      Append(map((Bits(text[i], 0x1F) << 6) | Bits(text[i + 1], 0x3F)), &mapped);
      i += 2;
    } else if (lead < 0xF0 && i + 2 < text.size()) {
      Append(map((Bits(text[i], 0x0F) << 12) | (Bits(text[i + 1], 0x3F) << 6) |
                 Bits(text[i + 2], 0x3F)),
             &mapped);
      i += 3;
    } else {
      mapped += text.substr(i, 4);
      i += 4;
    }
  }
  return mapped;
}

}  // namespace

std::string ToUpperCase(std::string_view text) { return MapLetters(text, ToUpper); }
std::string ToLowerCase(std::string_view text) { return MapLetters(text, ToLower); }
bool HasLowerCase(std::string_view text) { return ToUpperCase(text) != text; }
bool HasUpperCase(std::string_view text) { return ToLowerCase(text) != text; }

}  // namespace runnel
