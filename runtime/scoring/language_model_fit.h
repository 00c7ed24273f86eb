// Whether a language model and the vocabulary of an acoustic model fit together.
#ifndef RUNNEL_RUNTIME_SCORING_LANGUAGE_MODEL_FIT_H_
#define RUNNEL_RUNTIME_SCORING_LANGUAGE_MODEL_FIT_H_

#include <string>
#include <vector>

#include "runtime/language_model.h"
#include "runtime/ngram/ngram_model.h"
#include "runtime/token_table.h"

namespace runnel {

// Throws std::invalid_argument when the language model cannot match: when of its 1000 most probable
// words less than a third are words that the tokens can spell (level kWord), or less than half are
// tokens (kToken). Nearly every word of a result would be unknown then, and the search would prefer
// no text at all. The message names two of the words and what seems to be wrong.
//
// `token_texts`: TokenTable::text of each token in the case in which words are compared; "" for
// special tokens.
void CheckLanguageModelFits(LanguageModelLevel level, const NgramModel& ngrams,
                            const TokenTable& tokens, const std::vector<std::string>& token_texts);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SCORING_LANGUAGE_MODEL_FIT_H_
