// Rules about vocabularies that several classes share: their size and blank, bracketed tokens, word
// boundaries.
#ifndef RUNNEL_RUNTIME_TEXT_VOCABULARY_H_
#define RUNNEL_RUNTIME_TEXT_VOCABULARY_H_

#include <string>
#include <string_view>

namespace runnel {

// Throws std::invalid_argument unless vocab_size is at least 1 and blank_id is below it and not
// negative.
void CheckVocabulary(int vocab_size, int blank_id);

// Throws std::invalid_argument unless `what`, made for a vocabulary of this size and blank, is for
// the one of the model.
void CheckSameVocabulary(const char* what, int vocab_size, int blank_id, int model_vocab_size,
                         int model_blank_id);

// Whether the token is in angle brackets, such as <unk>: it spells no letters in any model.
bool IsBracketed(std::string_view name);

// `text` with one space for each run of spaces and word boundaries (U+2581), and none at its ends.
std::string SpacedText(std::string_view text);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_VOCABULARY_H_
