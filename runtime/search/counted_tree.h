// A tree of hypotheses that share their common beginnings, stored as plain data.
#ifndef RUNNEL_RUNTIME_SEARCH_COUNTED_TREE_H_
#define RUNNEL_RUNTIME_SEARCH_COUNTED_TREE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

namespace runnel {

// Nodes are referred to by index, so that a copy of the tree is a copy of its state. A node lives
// while a reference to it or to a node below it is held; then its slot is reused. Memory is
// therefore bounded by the references held, without collection pauses, and a node never has more
// children than there are references.
template <typename Value>
class CountedTree {
 public:
  static constexpr int32_t kRoot = 0;  // always alive
  static constexpr int32_t kNone = -1;

  CountedTree() : nodes_(1) { nodes_[kRoot].num_references = 1; }

  Value& value(int32_t node) { return At(node).value; }
  const Value& value(int32_t node) const { return At(node).value; }
  int32_t parent(int32_t node) const { return At(node).parent; }  // of the root: kNone

  // Adds a child, even when `parent` has an equal one. The caller holds one reference to it.
  int32_t Add(int32_t parent, const Value& value) {
    const int32_t node = TakeSlot();
    Node& added = At(node);
    Node& above = At(parent);
    added = Node{parent, kNone, above.first_child, 1, value};
    above.first_child = node;
    ++above.num_references;
    return node;
  }

  // The child of `parent` whose value satisfies `matches`, or kNone. O(number of children).
  template <typename Predicate>
  int32_t FindChild(int32_t parent, Predicate matches) const {
    int32_t child = At(parent).first_child;
    while (child != kNone && !matches(value(child))) child = At(child).next_sibling;
    return child;
  }

  // The child of `parent` when it has exactly one, else kNone.
  int32_t OnlyChild(int32_t parent) const {
    const int32_t child = At(parent).first_child;
    return child == kNone || At(child).next_sibling != kNone ? kNone : child;
  }

  // Calls visit(value) for every child of `parent`.
  template <typename Visitor>
  void ForEachChild(int32_t parent, Visitor visit) const {
    for (int32_t child = At(parent).first_child; child != kNone; child = At(child).next_sibling) {
      visit(value(child));
    }
  }

  // The nodes on the paths from the root to `ends`, without the root: each once, parents before
  // children, in the order of `ends`.
  std::vector<int32_t> NodesTo(const std::vector<int32_t>& ends) const {
    std::vector<bool> is_listed(nodes_.size());
    is_listed[kRoot] = true;
    std::vector<int32_t> listed;
    for (int32_t node : ends) {
      const auto begin = static_cast<std::ptrdiff_t>(listed.size());
      for (; !is_listed[static_cast<size_t>(node)]; node = parent(node)) {
        is_listed[static_cast<size_t>(node)] = true;
        listed.push_back(node);
      }
      std::reverse(listed.begin() + begin, listed.end());
    }
    return listed;
  }

  void Acquire(int32_t node) { ++At(node).num_references; }

  // Gives one reference back, and frees the nodes that have no reference left.
  void Release(int32_t node) {
    while (--At(node).num_references == 0) {
      const int32_t above = At(node).parent;
      Unlink(node);
      At(node).next_sibling = first_free_;
      first_free_ = node;
      --num_nodes_;
      node = above;
    }
  }

  // Gives back one reference to each of these, but the root.
  void ReleaseAll(const std::vector<int32_t>& nodes) {
    for (const int32_t node : nodes) {
      if (node != kRoot) Release(node);
    }
  }

  size_t num_nodes() const { return num_nodes_; }     // alive, the root included
  size_t num_slots() const { return nodes_.size(); }  // the most that were alive at once

 private:
  struct Node {
    int32_t parent = kNone;
    int32_t first_child = kNone;
    int32_t next_sibling = kNone;  // of a free slot: the next free one
    int32_t num_references = 0;    // holders and children
    Value value{};
  };

  Node& At(int32_t node) { return nodes_[static_cast<size_t>(node)]; }
  const Node& At(int32_t node) const { return nodes_[static_cast<size_t>(node)]; }

  int32_t TakeSlot() {
    if (first_free_ != kNone) {
      const int32_t node = first_free_;
      first_free_ = At(node).next_sibling;
      ++num_nodes_;
      return node;
    }
    if (nodes_.size() > static_cast<size_t>(std::numeric_limits<int32_t>::max())) {
      throw std::length_error("beam search: more than 2^31 tokens in one stream");
    }
    nodes_.emplace_back();
    ++num_nodes_;
    return static_cast<int32_t>(nodes_.size() - 1);
  }

  void Unlink(int32_t node) {
    int32_t* link = &At(At(node).parent).first_child;
    while (*link != node) link = &At(*link).next_sibling;
    *link = At(node).next_sibling;
  }

  std::vector<Node> nodes_;
  int32_t first_free_ = kNone;
  size_t num_nodes_ = 1;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_COUNTED_TREE_H_
