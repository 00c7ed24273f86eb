// Upper and lower case of Unicode characters.
#ifndef RUNNEL_RUNTIME_HOTWORDS_LETTER_CASE_H_
#define RUNNEL_RUNTIME_HOTWORDS_LETTER_CASE_H_

#include <locale.h>

#include <memory>
#include <type_traits>

namespace runnel {

// Maps single characters, as the C library does in the locale C.UTF-8; the locale of the process
// has no effect. Immutable.
class LetterCase {
 public:
  LetterCase();  // throws std::runtime_error when the system lacks the locale

  char32_t Lower(char32_t character) const;
  char32_t Upper(char32_t character) const;

 private:
  struct Deleter {
    void operator()(locale_t locale) const { ::freelocale(locale); }
  };
  std::unique_ptr<std::remove_pointer_t<locale_t>, Deleter> locale_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_HOTWORDS_LETTER_CASE_H_
