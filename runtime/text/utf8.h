// Whether bytes are UTF-8 text.
// Flow: packets -> frontend -> encoder -> runtime (this, below token_table) -> tools.
#ifndef RUNNEL_RUNTIME_UTF8_H_
#define RUNNEL_RUNTIME_UTF8_H_

#include <string_view>

namespace runnel {

// True when `text` is well-formed UTF-8 (Unicode standard, table 3-7: no overlong forms, no
// surrogates, nothing above U+10FFFF). The empty text is.
bool IsUtf8(std::string_view text);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_UTF8_H_
