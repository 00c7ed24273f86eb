// The vocabulary of a language model as a trie of bytes, for looking up words byte by byte.
#ifndef RUNNEL_RUNTIME_NGRAM_VOCABULARY_TRIE_H_
#define RUNNEL_RUNTIME_NGRAM_VOCABULARY_TRIE_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "runtime/ngram/image_format.h"

namespace runnel {

// A view of nodes and labels, which must outlive it. Nodes that are given must be below the number
// of nodes.
class VocabularyTrie {
 public:
  static constexpr uint32_t kRoot = 0;

  VocabularyTrie(const VocabularyNode* nodes, const unsigned char* labels)
      : nodes_(nodes), labels_(labels) {}

  // The node that one more byte leads to, or kNoIndex.
  uint32_t Child(uint32_t node, unsigned char byte) const {
    const uint32_t begin = nodes_[node].first_child;
    const uint32_t end = nodes_[node + 1].first_child;
    const void* found = std::memchr(labels_ + begin, byte, end - begin);
    if (found == nullptr) return kNoIndex;
    return static_cast<uint32_t>(static_cast<const unsigned char*>(found) - labels_);
  }

  // The node that more bytes lead to, or kNoIndex.
  uint32_t Walk(uint32_t node, std::string_view bytes) const {
    for (const char byte : bytes) {
      node = Child(node, static_cast<unsigned char>(byte));
      if (node == kNoIndex) return kNoIndex;
    }
    return node;
  }

  // The bytes that lead from the root to `node`.
  std::string Spelling(uint32_t node) const {
    std::string spelling;
    for (; node != kRoot; node = ParentOf(nodes_, node, node)) {  // a parent is before its children
      spelling.insert(spelling.begin(), static_cast<char>(labels_[node]));
    }
    return spelling;
  }

  // The word whose bytes lead from the root to `node`, or kNoIndex.
  uint32_t WordAt(uint32_t node) const { return nodes_[node].word; }

  // The largest log10 p(word) of the words that begin with the bytes of `node`.
  float BestLog10Below(uint32_t node) const { return nodes_[node].best_log10; }

  // The number of a word, or kNoIndex.
  uint32_t Find(std::string_view word) const {
    const uint32_t node = Walk(kRoot, word);
    return node == kNoIndex ? kNoIndex : WordAt(node);
  }

 private:
  const VocabularyNode* nodes_;
  const unsigned char* labels_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_VOCABULARY_TRIE_H_
