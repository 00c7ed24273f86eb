// The spellings of a word list as a prefix tree of token ids, which a search walks.
//
// This folder implements TokenTable and WordList.
#ifndef RUNNEL_RUNTIME_TEXT_WORD_TREE_H_
#define RUNNEL_RUNTIME_TEXT_WORD_TREE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/text/prefix_tree.h"

namespace runnel {

class Sha256;

// A token sequence is *complete* when it is a sequence of spellings or empty, and *allowed* when
// more tokens could make it complete. Immutable after construction: every method may be called from
// several threads.
class WordTree {
 public:
  using Spelling = std::vector<int32_t>;

  // The nodes that an allowed sequence may have reached, in ascending order; the root is among them
  // when the sequence is complete. Usually one node, or two after a word that begins another word;
  // more where a text can be split into words in several ways, as in Chinese. At most one more than
  // the longest spelling has tokens.
  using Nodes = std::vector<int32_t>;

  // `spellings`: at least one, sorted, none empty, none twice.
  explicit WordTree(const std::vector<Spelling>& spellings);

  // For the empty sequence.
  static Nodes Start() { return {Tree::kRoot}; }
  static bool IsComplete(const Nodes& nodes) { return nodes.front() == Tree::kRoot; }

  // The tokens that may follow, each once, in ascending order; replaces the contents of `tokens`.
  void TokensAfter(const Nodes& nodes, std::vector<int32_t>* tokens) const;

  // The nodes reached by one more token; none when it may not follow.
  Nodes Next(const Nodes& nodes, int32_t token) const;

  // Whether the sequence is complete after this token.
  bool CompletesWord(const Nodes& nodes, int32_t token) const;

  size_t num_nodes() const { return static_cast<size_t>(tree_.size()); }

  // Adds the whole tree to a fingerprint.
  void AddTo(Sha256* hash) const;

 private:
  using Tree = PrefixTree<int32_t, Spelling>;

  bool EndsWord(int32_t node) const { return tree_.At(node).sequence != Tree::kNone; }

  Tree tree_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_WORD_TREE_H_
