#include "runtime/text/letter_case.h"

#include <wctype.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "runtime/text/utf8.h"

namespace runnel {

LetterCase::LetterCase() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
  if (locale_ != nullptr) return;
  throw std::runtime_error(
      std::string("C.UTF-8: cannot load this locale, which tells upper from ") +
      "lower case: " + std::strerror(errno));
}

char32_t LetterCase::Lower(char32_t character) const {
  return static_cast<char32_t>(::towlower_l(static_cast<wint_t>(character), locale_.get()));
}

char32_t LetterCase::Upper(char32_t character) const {
  return static_cast<char32_t>(::towupper_l(static_cast<wint_t>(character), locale_.get()));
}

std::string LetterCase::Lower(std::string_view text) const {
  std::string lower;
  for (const std::string_view letter : SplitCharacters(text)) {
    lower += Character(Lower(CodePoint(letter)));
  }
  return lower;
}

std::string LetterCase::Upper(std::string_view text) const {
  std::string upper;
  for (const std::string_view letter : SplitCharacters(text)) {
    upper += Character(Upper(CodePoint(letter)));
  }
  return upper;
}

}  // namespace runnel
