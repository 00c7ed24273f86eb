// Accents and parts of letters that are characters of their own, although Unicode has both in one.
#ifndef RUNNEL_RUNTIME_TEXT_COMPOSITION_H_
#define RUNNEL_RUNTIME_TEXT_COMPOSITION_H_

#include <string_view>
#include <vector>

namespace runnel {

// The characters of UTF-8 text that compose with the one before them (NFC of Unicode). None in
// composed text, which has marks only where no composed character exists.
std::vector<std::string_view> DecomposedMarks(std::string_view text);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_COMPOSITION_H_
