#include "runtime/text/letter_case.h"

#include <map>

#include "runtime/text/utf8.h"

namespace runnel {

std::string LetterCase::Lower(std::string_view text) const {
  std::string lower;
  for (const std::string_view letter : SplitCharacters(text)) {
    lower += Character(Lower(CodePoint(letter)));
  }
  return lower;
}

std::string LetterCase::Folded(std::string_view text) const {
  static const std::map<char32_t, std::string> folded = {
      {U'ς', "σ"}, {U'ß', "ss"}, {U'ẞ', "ss"}, {U'ı', "i"}, {U'İ', "i"}};
  std::string result;
  for (const std::string_view letter : SplitCharacters(text)) {
    const auto found = folded.find(CodePoint(letter));
    result += found == folded.end() ? Character(Lower(CodePoint(letter))) : found->second;
  }
  return result;
}

std::string LetterCase::Upper(std::string_view text) const {
  std::string upper;
  for (const std::string_view letter : SplitCharacters(text)) {
    upper += Character(Upper(CodePoint(letter)));
  }
  return upper;
}

}  // namespace runnel
