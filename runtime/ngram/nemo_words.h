// The words of language models that NeMo estimates on tokens.
#ifndef RUNNEL_RUNTIME_NGRAM_NEMO_WORDS_H_
#define RUNNEL_RUNTIME_NGRAM_NEMO_WORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/token_table.h"

namespace runnel {

// NeMo's train_kenlm.py writes the token of id i as the character of code point i + 100, because
// its beam search reads language models of characters. Immutable.
class NemoWords {
 public:
  explicit NemoWords(const TokenTable& tokens);

  // The token that a word stands for in a vocabulary of `num_tokens`; none if it is no such
  // character.
  static std::optional<int32_t> TokenOf(std::string_view word, int num_tokens);

  // The name of the token that a word stands for; the word itself when it is in angle brackets, as
  // <s> is. A token whose name is in angle brackets gets another one, so that NeMo's token <unk> is
  // not the <unk> of the language model. Valid as long as this and the word are. None if the word
  // is neither.
  std::optional<std::string_view> Decoded(std::string_view word) const;

  // "a character from U+0064 to ...", for messages.
  std::string Expected() const;

 private:
  std::vector<std::string> names_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_NEMO_WORDS_H_
