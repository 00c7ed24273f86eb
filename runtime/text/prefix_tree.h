// A prefix tree of sequences in one flat vector.
#ifndef RUNNEL_RUNTIME_TEXT_PREFIX_TREE_H_
#define RUNNEL_RUNTIME_TEXT_PREFIX_TREE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace runnel {

// Nodes are numbered breadth first: a node's number is above its parent's, and above those of all
// nodes with shorter paths. Immutable after construction.
template <typename Label, typename Sequence>
class PrefixTree {
 public:
  static constexpr int32_t kRoot = 0;
  static constexpr int32_t kNone = -1;

  // The children of a node are adjacent, in ascending order of their labels.
  struct Node {
    Label label = static_cast<Label>(-1);  // leads from the parent to this node; not for the root
    int32_t first_child = 0;
    int32_t end_child = 0;
    int32_t sequence = kNone;  // index of the sequence that ends here, or kNone
  };

  // `sequences`: at least one, none twice, sorted by their elements as labels.
  explicit PrefixTree(const std::vector<Sequence>& sequences);

  const Node& At(int32_t node) const { return nodes_[static_cast<size_t>(node)]; }
  int32_t Child(int32_t node, Label label) const;  // or kNone
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }

 private:
  std::vector<Node> nodes_;
};

template <typename Label, typename Sequence>
PrefixTree<Label, Sequence>::PrefixTree(const std::vector<Sequence>& sequences) {
  // The sequences below a node: they have their first `length` elements in common.
  struct Range {
    size_t begin;
    size_t end;
    size_t length;
  };
  std::vector<Range> ranges = {{0, sequences.size(), 0}};
  nodes_.assign(1, Node());
  // Breadth first, so that a node's children are appended together.
  for (size_t i = 0; i < nodes_.size(); ++i) {
    Range range = ranges[i];
    if (sequences[range.begin].size() == range.length) {
      nodes_[i].sequence = static_cast<int32_t>(range.begin);
      ++range.begin;
    }
    nodes_[i].first_child = size();
    while (range.begin < range.end) {
      const auto label = static_cast<Label>(sequences[range.begin][range.length]);
      const auto is_other = [label, &range](const Sequence& sequence) {
        return static_cast<Label>(sequence[range.length]) != label;
      };
      const auto end =
          std::find_if(sequences.begin() + static_cast<std::ptrdiff_t>(range.begin),
                       sequences.begin() + static_cast<std::ptrdiff_t>(range.end), is_other);
      const auto end_index = static_cast<size_t>(end - sequences.begin());
      nodes_.push_back({label, 0, 0, kNone});
      ranges.push_back({range.begin, end_index, range.length + 1});
      range.begin = end_index;
    }
    nodes_[i].end_child = size();
  }
}

template <typename Label, typename Sequence>
int32_t PrefixTree<Label, Sequence>::Child(int32_t node, Label label) const {
  const auto begin = nodes_.begin() + At(node).first_child;
  const auto end = nodes_.begin() + At(node).end_child;
  const auto found = std::lower_bound(
      begin, end, label, [](const Node& child, Label wanted) { return child.label < wanted; });
  if (found == end || found->label != label) return kNone;
  return static_cast<int32_t>(found - nodes_.begin());
}

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_PREFIX_TREE_H_
