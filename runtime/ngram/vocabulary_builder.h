// Builds the vocabulary trie of a language model.
#ifndef RUNNEL_RUNTIME_NGRAM_VOCABULARY_BUILDER_H_
#define RUNNEL_RUNTIME_NGRAM_VOCABULARY_BUILDER_H_

#include <string_view>
#include <vector>

#include "runtime/ngram/image_format.h"
#include "runtime/ngram/vocabulary_trie.h"

namespace runnel {

// The nodes and labels of a VocabularyTrie.
struct VocabularyNodes {
  std::vector<VocabularyNode> nodes;  // one more than labels
  std::vector<unsigned char> labels;

  VocabularyTrie trie() const { return {nodes.data(), labels.data()}; }
};

// `words`: at least one, in the order of their bytes, each once, none empty; the index is the
// number of the word. `log10_probs`: log10 p(word) of each. Throws std::length_error for more than
// kMaxItems nodes.
VocabularyNodes BuildVocabulary(const std::vector<std::string_view>& words,
                                const std::vector<float>& log10_probs);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_VOCABULARY_BUILDER_H_
