// The tokens that spell a reference text, without the tokenizer of the model.
#ifndef RUNNEL_TOOLS_VERIFICATION_SPELLING_H_
#define RUNNEL_TOOLS_VERIFICATION_SPELLING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/token_table.h"

namespace runnel {

// The tokens of a reference text. `recognised`: those that the model found in the recording. They
// are returned when their text is the reference text. Otherwise the text is spelled with as few
// tokens as possible, which is often, but not always, what the tokenizer of the model would give.
// In a model with word boundaries the spelling begins with one, or ends with one if it cannot begin
// with one. White space of any length separates words; other characters must match exactly. Throws
// std::runtime_error, which names a word, when the tokens cannot spell the text.
std::vector<int32_t> ReferenceTokens(const std::string& text,
                                     const std::vector<int32_t>& recognised,
                                     const TokenTable& tokens);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_SPELLING_H_
