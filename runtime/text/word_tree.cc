#include "runtime/text/word_tree.h"

#include <algorithm>

#include "runtime/snapshot/sha256.h"

namespace runnel {

// Breadth first, so that a node's children are appended together.
WordTree::WordTree(const std::vector<Spelling>& spellings) {
  // The spellings below a node: they have their first `length` tokens in common.
  struct Range {
    size_t begin;
    size_t end;
    size_t length;
  };
  std::vector<Range> ranges = {{0, spellings.size(), 0}};
  nodes_.assign(1, Node());
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Range range = ranges[i];
    if (spellings[range.begin].size() == range.length) {
      nodes_[i].ends_word = true;
      ++range.begin;
    }
    nodes_[i].first_child = static_cast<int32_t>(nodes_.size());
    while (range.begin < range.end) {
      const int32_t token = spellings[range.begin][range.length];
      size_t end = range.begin + 1;
      while (end < range.end && spellings[end][range.length] == token) ++end;
      nodes_.push_back({token, 0, 0, false});
      ranges.push_back({range.begin, end, range.length + 1});
      range.begin = end;
    }
    nodes_[i].end_child = static_cast<int32_t>(nodes_.size());
  }
}

int32_t WordTree::Child(int32_t node, int32_t token) const {
  const auto begin = nodes_.begin() + At(node).first_child;
  const auto end = nodes_.begin() + At(node).end_child;
  const auto found = std::lower_bound(
      begin, end, token, [](const Node& child, int32_t wanted) { return child.token < wanted; });
  if (found == end || found->token != token) return kNone;
  return static_cast<int32_t>(found - nodes_.begin());
}

void WordTree::TokensAfter(const Nodes& nodes, std::vector<int32_t>* tokens) const {
  tokens->clear();
  for (const int32_t node : nodes) {
    for (int32_t child = At(node).first_child; child < At(node).end_child; ++child) {
      tokens->push_back(At(child).token);
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
    const int32_t child = Child(node, token);
    if (child == kNone) continue;
    if (At(child).ends_word) is_complete = true;
    // A word that begins no other word leads to the root only.
    if (At(child).first_child < At(child).end_child) next.push_back(child);
  }
  if (is_complete) next.push_back(kRoot);
  std::sort(next.begin(), next.end());
  return next;
}

bool WordTree::CompletesWord(const Nodes& nodes, int32_t token) const {
  return std::any_of(nodes.begin(), nodes.end(), [this, token](int32_t node) {
    const int32_t child = Child(node, token);
    return child != kNone && At(child).ends_word;
  });
}

void WordTree::AddTo(Sha256* hash) const {
  for (const Node& node : nodes_) {
    hash->AddNumber(node.token).AddNumber(node.first_child).AddNumber(node.ends_word ? 1 : 0);
  }
}

}  // namespace runnel
