#include "runtime/hotwords/letter_case.h"

#include <wctype.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace runnel {

LetterCase::LetterCase() : locale_(::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr)) {
  if (locale_ != nullptr) return;
  throw std::runtime_error(std::string("C.UTF-8: cannot load this locale, which the case of ") +
                           "hotwords needs: " + std::strerror(errno));
}

char32_t LetterCase::Lower(char32_t character) const {
  return static_cast<char32_t>(::towlower_l(static_cast<wint_t>(character), locale_.get()));
}

char32_t LetterCase::Upper(char32_t character) const {
  return static_cast<char32_t>(::towupper_l(static_cast<wint_t>(character), locale_.get()));
}

}  // namespace runnel
