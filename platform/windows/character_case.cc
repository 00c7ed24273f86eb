#include "platform/character_case.h"

#include <windows.h>

namespace runnel {
namespace {

constexpr char32_t kSupplementary = 0x10000;  // the first character of two UTF-16 units

char32_t Mapped(char32_t character, DWORD mapping) {
  wchar_t from[2] = {static_cast<wchar_t>(character), 0};
  wchar_t to[2] = {};
  int size = 1;
  if (character >= kSupplementary) {
    from[0] = static_cast<wchar_t>(0xD800 + ((character - kSupplementary) >> 10));
    from[1] = static_cast<wchar_t>(0xDC00 + ((character - kSupplementary) & 0x3FF));
    size = 2;
  }
  if (::LCMapStringEx(LOCALE_NAME_INVARIANT, mapping, from, size, to, size, nullptr, nullptr, 0) !=
      size) {
    return character;
  }
  if (size == 1) return to[0];
  return kSupplementary + ((static_cast<char32_t>(to[0]) - 0xD800) << 10) +
         (static_cast<char32_t>(to[1]) - 0xDC00);
}

}  // namespace

CharacterCase::CharacterCase() = default;

char32_t CharacterCase::Lower(char32_t character) const {
  return Mapped(character, LCMAP_LOWERCASE);
}

char32_t CharacterCase::Upper(char32_t character) const {
  return Mapped(character, LCMAP_UPPERCASE);
}

}  // namespace runnel
