// Upper and lower case of Unicode characters and UTF-8 text.
#ifndef RUNNEL_RUNTIME_TEXT_LETTER_CASE_H_
#define RUNNEL_RUNTIME_TEXT_LETTER_CASE_H_

#include <string>
#include <string_view>

#include "platform/character_case.h"

namespace runnel {

// Maps characters one by one. Immutable: every method may be called from several threads. The
// constructor throws as that of CharacterCase.
class LetterCase {
 public:
  char32_t Lower(char32_t character) const { return characters_.Lower(character); }
  char32_t Upper(char32_t character) const { return characters_.Upper(character); }

  // Of well-formed UTF-8.
  std::string Lower(std::string_view text) const;
  std::string Upper(std::string_view text) const;

  // Lower, with one letter for those that some capital stands for as well: σ for ς, ss for ß and
  // ẞ, i for ı and İ.
  std::string Folded(std::string_view text) const;

  // Whether Upper, or Lower, changes the text.
  bool HasLower(std::string_view text) const { return Upper(text) != text; }
  bool HasUpper(std::string_view text) const { return Lower(text) != text; }

 private:
  CharacterCase characters_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_LETTER_CASE_H_
