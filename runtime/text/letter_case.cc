#include "runtime/text/letter_case.h"

#include "runtime/text/utf8.h"

namespace runnel {

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
