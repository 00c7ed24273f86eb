#include "runtime/text/word_tree.h"

#include <algorithm>

#include "runtime/snapshot/sha256.h"

namespace runnel {

WordTree::WordTree(const std::vector<Spelling>& spellings) : tree_(spellings) {}

void WordTree::TokensAfter(const Nodes& nodes, std::vector<int32_t>* tokens) const {
  tokens->clear();
  for (const int32_t node : nodes) {
    for (int32_t child = tree_.At(node).first_child; child < tree_.At(node).end_child; ++child) {
      tokens->push_back(tree_.At(child).label);
    }
  }
  if (nodes.size() == 1) return;
  std::sort(tokens->begin(), tokens->end());
  tokens->erase(std::unique(tokens->begin(), tokens->end()), tokens->end());
}

WordTree::Nodes WordTree::Next(const Nodes& nodes, int32_t token) const {
  Nodes next;
  bool is_complete = false;
  for (const int32_t node : nodes) {
    const int32_t child = tree_.Child(node, token);
    if (child == Tree::kNone) continue;
    if (EndsWord(child)) is_complete = true;
    // A word that begins no other word leads to the root only.
    if (tree_.At(child).first_child < tree_.At(child).end_child) next.push_back(child);
  }
  if (is_complete) next.push_back(Tree::kRoot);
  std::sort(next.begin(), next.end());
  return next;
}

bool WordTree::CompletesWord(const Nodes& nodes, int32_t token) const {
  return std::any_of(nodes.begin(), nodes.end(), [this, token](int32_t node) {
    const int32_t child = tree_.Child(node, token);
    return child != Tree::kNone && EndsWord(child);
  });
}

void WordTree::AddTo(Sha256* hash) const {
  for (int32_t node = 0; node < tree_.size(); ++node) {
    hash->AddNumber(tree_.At(node).label)
        .AddNumber(tree_.At(node).first_child)
        .AddNumber(EndsWord(node) ? 1 : 0);
  }
}

}  // namespace runnel
