// The check of a vocabulary's size and blank, which the token table and the searches share.
#ifndef RUNNEL_RUNTIME_TEXT_VOCABULARY_H_
#define RUNNEL_RUNTIME_TEXT_VOCABULARY_H_

namespace runnel {

// Throws std::invalid_argument unless vocab_size is at least 1 and blank_id is below it and not
// negative.
void CheckVocabulary(int vocab_size, int blank_id);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_VOCABULARY_H_
