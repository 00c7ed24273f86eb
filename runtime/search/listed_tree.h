// A tree of hypotheses as a list, for the snapshot of a stream.
#ifndef RUNNEL_RUNTIME_SEARCH_LISTED_TREE_H_
#define RUNNEL_RUNTIME_SEARCH_LISTED_TREE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/search/counted_tree.h"
#include "runtime/search/search.h"

namespace runnel {

// Parents come before their children. The *name* of a node is its place in the list, from 1 on; 0
// is the root, which is not listed.
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

#endif  // RUNNEL_RUNTIME_SEARCH_LISTED_TREE_H_
