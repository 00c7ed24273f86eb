#include "platform/character_case.h"

#include <locale.h>
#include <wctype.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace runnel {
namespace {

locale_t LocaleOf(const std::shared_ptr<void>& locale) {
  return static_cast<locale_t>(locale.get());
}

}  // namespace

CharacterCase::CharacterCase() {
  constexpr char kName[] = "C.UTF-8";
  const locale_t locale = ::newlocale(LC_CTYPE_MASK, kName, nullptr);
  if (locale == nullptr) {
    throw std::runtime_error(
        std::string(kName) +
        ": cannot load this locale, which tells upper from lower case: " + std::strerror(errno));
  }
  locale_ = {locale, [](void* owned) { ::freelocale(static_cast<locale_t>(owned)); }};
}

char32_t CharacterCase::Lower(char32_t character) const {
  return static_cast<char32_t>(::towlower_l(static_cast<wint_t>(character), LocaleOf(locale_)));
}

char32_t CharacterCase::Upper(char32_t character) const {
  return static_cast<char32_t>(::towupper_l(static_cast<wint_t>(character), LocaleOf(locale_)));
}

}  // namespace runnel
