// A tree of hypotheses that share their common beginnings, stored as plain data.
#ifndef RUNNEL_RUNTIME_SEARCH_COUNTED_TREE_H_
#define RUNNEL_RUNTIME_SEARCH_COUNTED_TREE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/search/search.h"

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

// A tree as a list, for the snapshot of a stream. Parents come before their children. The *name* of
// a node is its place in the list, from 1 on; 0 is the root, which is not listed.
template <typename Value>
class ListedTree {
 public:
  struct Node {
    int32_t parent = 0;  // its name
    Value value{};
  };

  ListedTree() = default;

  // The nodes of `tree` that lead to `ends`, in the order of `ends`.
  ListedTree(const CountedTree<Value>& tree, const std::vector<int32_t>& ends)
      : names_(tree.num_slots()) {
    for (const int32_t node : tree.NodesTo(ends)) {
      nodes_.push_back({NameOf(tree.parent(node)), tree.value(node)});
      names_[static_cast<size_t>(node)] = static_cast<int32_t>(nodes_.size());
    }
  }

  // Of a node of the constructor's tree that leads to one of the ends.
  int32_t NameOf(int32_t node) const { return names_[static_cast<size_t>(node)]; }

  // visit_value passes the fields of a value to `fields`, at least `bytes_each` bytes.
  template <class Self, class Fields, class VisitValue>
  static void VisitState(Self& self, Fields& fields, size_t bytes_each, VisitValue visit_value) {
    VisitList(self.nodes_, fields, sizeof(int32_t) + bytes_each, [&](auto& node) {
      fields.Value(node.parent);
      visit_value(node.value);
    });
  }

  // What is wrong with a list that was read, whose nodes are `what`; "" if nothing is. Until it is
  // checked, only VisitState may be called.
  std::string Problem(const std::string& what) const {
    if (nodes_.size() + 1 >= std::numeric_limits<int32_t>::max()) {
      return "the tree of " + what + " has more than 2^31 nodes";
    }
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].parent < 0 || static_cast<size_t>(nodes_[i].parent) > i) {
        return "the tree of " + what + " has a parent after its child";
      }
    }
    return "";
  }

  const std::vector<Node>& nodes() const { return nodes_; }
  bool Has(int32_t name) const { return name >= 0 && static_cast<size_t>(name) <= nodes_.size(); }

  // Whether every node leads to one of `ends`, which are names of nodes.
  bool EachLeadsTo(const std::vector<int32_t>& ends) const {
    std::vector<bool> leads(nodes_.size() + 1);
    for (const Node& node : nodes_) leads[static_cast<size_t>(node.parent)] = true;
    for (const int32_t end : ends) leads[static_cast<size_t>(end)] = true;
    return std::all_of(leads.begin() + 1, leads.end(), [](bool does_lead) { return does_lead; });
  }

  // Results by name: `first` of the root, next(result of the parent, value) of the others. Calls
  // `next` once for each node, in the order of the list.
  template <typename Result, typename Next>
  std::vector<Result> AlongPaths(Result first, Next next) const {
    std::vector<Result> results;
    results.reserve(nodes_.size() + 1);
    results.push_back(std::move(first));
    for (const Node& node : nodes_) {
      results.push_back(next(results[static_cast<size_t>(node.parent)], node.value));
    }
    return results;
  }

 private:
  std::vector<Node> nodes_;
  std::vector<int32_t> names_;  // by node of the constructor's tree
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_COUNTED_TREE_H_
