// Text from outside as a log, a terminal or an error message can show it.
#ifndef RUNNEL_RUNTIME_TEXT_PRINTABLE_H_
#define RUNNEL_RUNTIME_TEXT_PRINTABLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace runnel {

// `text` in one line of well-formed UTF-8. White space becomes spaces. Other control characters,
// characters that change how the text around them is shown (U+202E for example), and bytes that are
// not UTF-8 become escapes such as \x1b and \u202e. A text of more than `max_bytes` bytes is cut
// and ends with "...".
std::string Printable(std::string_view text, size_t max_bytes = std::string_view::npos);

// The beginning of a value in a message: Printable in single quotes, cut after some 80 bytes. A
// NUL within an exception's message would end it.
std::string Quoted(std::string_view value);

// For the end of a message about UTF-8 text that the tokens cannot spell: "" unless it has accents
// or parts of letters as characters of their own (NFD of Unicode), as file systems of Apple give
// them, where composed characters exist.
std::string DecompositionNote(std::string_view text);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_PRINTABLE_H_
