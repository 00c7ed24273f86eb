// Validation of UTF-8.
#ifndef RUNNEL_RUNTIME_TEXT_UTF8_H_
#define RUNNEL_RUNTIME_TEXT_UTF8_H_

#include <string_view>

namespace runnel {

// True when `text` is well-formed UTF-8 (Unicode standard, table 3-7: no overlong forms, no
// surrogates, nothing above U+10FFFF). The empty text is well-formed.
bool IsUtf8(std::string_view text);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_UTF8_H_
