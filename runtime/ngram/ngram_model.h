// Looks up n-grams: log10 p(word | words before), word by word.
#ifndef RUNNEL_RUNTIME_NGRAM_NGRAM_MODEL_H_
#define RUNNEL_RUNTIME_NGRAM_NGRAM_MODEL_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/mapped_bytes.h"
#include "runtime/ngram/image_format.h"
#include "runtime/ngram/vocabulary_trie.h"

namespace runnel {

// Immutable after construction: every method may be called from several threads.
class NgramModel {
 public:
  static constexpr int kMaxOrder = kMaxNgramOrder;
  static constexpr uint32_t kUnknownWord = kNoIndex;

  // The words before the next one, as far as they matter. Contexts that are equal give the same
  // probabilities from then on. nodes[k - 1] is the entry of the last k words in level k, or
  // kNoIndex where these words change no probability.
  struct Context {
    std::array<uint32_t, kMaxOrder - 1> nodes;
  };

  // Checks the image. Throws std::runtime_error "source: what is wrong".
  NgramModel(MappedBytes image, const std::string& source);

  // No words before.
  static Context Empty();
  // After <s>; Empty() in a model without <s>.
  const Context& Start() const { return start_; }

  // kUnknownWord when it is not in the model.
  uint32_t WordId(std::string_view word) const { return vocabulary_.Find(word); }

  // log10 p(word | context) by the back-off rule of ARPA models: that of the longest n-gram which
  // ends the words, plus the back-off weights of the longer contexts. Sets `next`, which may be
  // `context`, to the context after the word.
  //
  // An unknown word is <unk> where the model has it. Elsewhere the result is 0 and no words before
  // are remembered.
  double Log10Prob(const Context& context, uint32_t word, Context* next) const;

  // No result of Log10Prob is larger. At most 0 for models whose back-off weights are.
  double most_log10_prob() const { return most_log10_prob_; }

  // A word's log10 p(word), without context.
  double Log10Unigram(uint32_t word) const;

  int order() const { return static_cast<int>(header().order); }
  // The n-grams of `length` words, 1 to order().
  int64_t num_ngrams(int length) const { return header().num_ngrams[length - 1]; }
  uint32_t num_words() const { return header().num_entries[0]; }
  // kUnknownWord where the model has no such word. <unk> may be spelled <UNK>.
  uint32_t unknown_word() const { return header().unknown_word; }
  uint32_t start_word() const { return header().start_word; }
  uint32_t end_word() const { return header().end_word; }
  bool is_special(uint32_t word) const {
    return word == unknown_word() || word == start_word() || word == end_word();
  }
  // Whether a word has such a letter; words like <s> do not count.
  bool has_lower_case() const { return header().has_lower_case != 0; }
  bool has_upper_case() const { return header().has_upper_case != 0; }

  const VocabularyTrie& vocabulary() const { return vocabulary_; }

  // The spellings of the 1000 most probable words, or of all if there are fewer, the most probable
  // first. Special words, and others in angle brackets, are left out.
  const std::vector<std::string>& most_probable_words() const { return most_probable_words_; }

  const MappedBytes& image() const { return image_; }

 private:
  const ImageHeader& header() const { return *reinterpret_cast<const ImageHeader*>(image_.data()); }
  // The probability of an entry, which may be kPlaceholder.
  float EntryLog10(int level, uint32_t entry) const;
  // The entry for `word` among the children of an entry of `level`, or kNoIndex.
  uint32_t Child(int level, uint32_t entry, uint32_t word) const;
  // Whether a context that ends with this entry can change a probability.
  bool Matters(int level, uint32_t entry) const;
  double MostLog10Prob() const;
  std::vector<std::string> MostProbableWords() const;

  MappedBytes image_;
  VocabularyTrie vocabulary_;
  std::array<const NgramEntry*, kMaxOrder> levels_;  // below the highest; index 0 is level 1
  const LeafEntry* leaves_;
  double most_log10_prob_;
  std::vector<std::string> most_probable_words_;
  Context start_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_NGRAM_MODEL_H_
