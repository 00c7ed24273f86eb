// The token sequences of a beam as one tree, the best of them, and the tokens that all begin with.
#ifndef RUNNEL_RUNTIME_SEARCH_TOKEN_TREE_H_
#define RUNNEL_RUNTIME_SEARCH_TOKEN_TREE_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/search/counted_tree.h"
#include "runtime/search/log_probs.h"
#include "runtime/search/search.h"

namespace runnel {

// Where an alignment emits one token.
struct Emission {
  int64_t first_frame = 0;
  int64_t last_frame = 0;
  float log_prob = 0;  // the highest over these frames

  TokenSpan SpanOf(int32_t token) const {
    return {token, first_frame, last_frame, Confidence(log_prob)};
  }

  // Whether it lies in [begin_frame, end_frame), at least with its first frame.
  bool IsWithin(int64_t begin_frame, int64_t end_frame) const {
    return first_frame >= begin_frame && first_frame < end_frame && last_frame >= first_frame &&
           std::isfinite(log_prob);
  }

  // For the snapshot of a stream (runtime/snapshot/state_fields.h).
  static constexpr size_t kSavedSize = 2 * sizeof(int64_t) + sizeof(float);
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Counter(self.first_frame);
    fields.Counter(self.last_frame);
    fields.Value(self.log_prob);
  }
};

// A Value has the fields `token`, and `length`, the number of tokens from the root to it. A *beam*
// is a list of hypotheses, best first and never empty. The field `node` of a hypothesis is where
// its sequence ends; it holds a reference to that node. While Follow runs, every node leads to a
// hypothesis of its beam or to the best sequence of the call before.
template <typename Value>
class TokenTree : public CountedTree<Value> {
 public:
  using CountedTree<Value>::kNone;
  using CountedTree<Value>::kRoot;

  TokenTree() { this->Acquire(kRoot); }  // by the best path

  // As CountedTree::Add; sets value.length.
  int32_t Add(int32_t parent, Value value) {
    value.length = this->value(parent).length + 1;
    return CountedTree<Value>::Add(parent, value);
  }

  // The number of tokens that end in `node`.
  size_t Length(int32_t node) const { return static_cast<size_t>(this->value(node).length); }

  // The first hypothesis with these tokens, or the best one if none has them.
  template <typename Hypothesis>
  const Hypothesis& FindOrBest(const std::vector<Hypothesis>& beam,
                               const std::vector<TokenSpan>& tokens) const {
    const auto found = std::find_if(beam.begin(), beam.end(), [&](const Hypothesis& hypothesis) {
      return HasTokens(hypothesis.node, tokens);
    });
    return found == beam.end() ? beam.front() : *found;
  }

  // Updates best_ids and num_stable after the beam has changed. Costs the difference of the best
  // sequences and the growth of what is stable, each step of which looks at the whole beam.
  template <typename Hypothesis>
  void Follow(const std::vector<Hypothesis>& beam) {
    FollowBest(beam.front().node);
    const auto is_end = [&beam](int32_t node) {
      return std::any_of(beam.begin(), beam.end(),
                         [node](const Hypothesis& hypothesis) { return hypothesis.node == node; });
    };
    // All begin with the nodes until the tree first parts or a sequence ends. What follows is only
    // ever cut off further down, so that place never moves up.
    int32_t node = num_stable_ == 0 ? kRoot : best_nodes_[num_stable_ - 1];
    while (!is_end(node)) {
      node = this->OnlyChild(node);
      if (node == kNone) return;
      ++num_stable_;
    }
  }

  // The tokens of the best hypothesis, and how many of them all hypotheses begin with for ever.
  const std::vector<int32_t>& best_ids() const { return best_ids_; }
  size_t num_stable() const { return num_stable_; }

 private:
  bool HasTokens(int32_t node, const std::vector<TokenSpan>& tokens) const {
    if (Length(node) != tokens.size()) return false;
    return std::all_of(tokens.rbegin(), tokens.rend(), [this, &node](const TokenSpan& token) {
      return this->value(std::exchange(node, this->parent(node))).token == token.id;
    });
  }

  void FollowBest(int32_t new_end) {
    const int32_t old_end = best_nodes_.empty() ? kRoot : best_nodes_.back();
    if (new_end == old_end) return;
    // Down to where the paths part. The old path is held, so equal indices are the same node.
    const size_t length = Length(new_end);
    size_t common = length;
    for (int32_t node = new_end; common > 0; node = this->parent(node), --common) {
      if (common <= best_nodes_.size() && best_nodes_[common - 1] == node) break;
    }
    best_ids_.resize(length);
    best_nodes_.resize(length);
    int32_t node = new_end;
    for (size_t i = length; i > common; --i) {
      best_nodes_[i - 1] = node;
      best_ids_[i - 1] = this->value(node).token;
      node = this->parent(node);
    }
    this->Acquire(new_end);
    this->Release(old_end);
  }

  // The path to the best hypothesis, root not included; holds a reference to its end.
  std::vector<int32_t> best_ids_;
  std::vector<int32_t> best_nodes_;
  size_t num_stable_ = 0;  // of best_ids_
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_TOKEN_TREE_H_
