// The width of text on a screen.
#ifndef RUNNEL_TOOLS_DECODE_FORMATS_DISPLAY_WIDTH_H_
#define RUNNEL_TOOLS_DECODE_FORMATS_DISPLAY_WIDTH_H_

#include <string_view>

namespace runnel {

// Columns of `text` (UTF-8): two per character of Chinese, Japanese and Korean, one per other
// character and per sequence of bytes that is no character. Ranges of Unicode's EastAsianWidth.txt
// with the property W or F, in whole blocks.
int DisplayWidth(std::string_view text);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_FORMATS_DISPLAY_WIDTH_H_
