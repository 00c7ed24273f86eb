// Upper and lower case of Unicode characters and UTF-8 text.
#ifndef RUNNEL_RUNTIME_TEXT_LETTER_CASE_H_
#define RUNNEL_RUNTIME_TEXT_LETTER_CASE_H_

#include <locale.h>

#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

namespace runnel {

// Maps characters one by one, as the C library does in the locale C.UTF-8; the locale of the
// process has no effect. Immutable: every method may be called from several threads.
class LetterCase {
 public:
  LetterCase();  // throws std::runtime_error when the system lacks the locale

  char32_t Lower(char32_t character) const;
  char32_t Upper(char32_t character) const;

  // Of well-formed UTF-8.
  std::string Lower(std::string_view text) const;
  std::string Upper(std::string_view text) const;

  // Whether Upper, or Lower, changes the text.
  bool HasLower(std::string_view text) const { return Upper(text) != text; }
  bool HasUpper(std::string_view text) const { return Lower(text) != text; }

 private:
  struct Deleter {
    void operator()(locale_t locale) const { ::freelocale(locale); }
  };
  std::unique_ptr<std::remove_pointer_t<locale_t>, Deleter> locale_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_LETTER_CASE_H_
