// Upper and lower case of letters in UTF-8 text.
#ifndef RUNNEL_RUNTIME_TEXT_LETTER_CASE_H_
#define RUNNEL_RUNTIME_TEXT_LETTER_CASE_H_

#include <string>
#include <string_view>

namespace runnel {

// Each letter that has a counterpart of one code point in the other case, in the Latin, Greek,
// Cyrillic and Armenian alphabets; all other characters stay. `text` must be well-formed UTF-8.
std::string ToUpperCase(std::string_view text);
std::string ToLowerCase(std::string_view text);

// Whether ToUpperCase, or ToLowerCase, changes `text`.
bool HasLowerCase(std::string_view text);
bool HasUpperCase(std::string_view text);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_LETTER_CASE_H_
