// CTC best path: the most probable token of each frame, repeats collapsed, blanks dropped.
// Source: Graves et al. 2006, "Connectionist temporal classification", section 3.2 (best path).
#ifndef RUNNEL_RUNTIME_SEARCH_GREEDY_SEARCH_H_
#define RUNNEL_RUNTIME_SEARCH_GREEDY_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/search/ctc_search.h"

namespace runnel {

// Of equally probable tokens the lowest id wins. NBest has exactly one sequence. Its score is the
// log probability of the best path: one alignment, not the sum over all. A token's confidence is
// its highest probability over its span. Cost of a frame: O(vocab_size).
class CtcGreedySearch : public CtcSearch {
 public:
  // Throws std::invalid_argument when blank_id is not an id below vocab_size.
  CtcGreedySearch(int vocab_size, int blank_id);

  // Throws std::invalid_argument, and changes nothing, as MostProbableIds does.
  void Advance(const float* log_probs, int64_t num_frames) override;
  void Finish() override {}
  void StartUtterance(int64_t first_frame) override;
  void StartUtteranceAfter(int32_t token_before, int64_t first_frame) override;
  void ContinueAfter(const std::vector<TokenSpan>& tokens) override;
  int32_t TokenOfLastFrame() const override;
  std::vector<TokenSpan> BestTokensSince(size_t first) const override;
  const std::vector<int32_t>& BestIds() const override { return state_.ids; }
  size_t NumStableIds() const override { return state_.ids.size(); }
  int64_t num_frames() const override { return state_.num_frames; }
  void Save(StateWriter* writer) const override;
  void Restore(StateReader* reader) override;
  std::unique_ptr<CtcSearch> Clone() const override;
  void Reset() override;

 private:
  size_t num_sequences() const override { return 1; }
  TokenSequence SequenceAt(size_t /*rank*/) const override { return {state_.tokens, state_.score}; }

  // The whole state of the search.
  struct State {
    std::vector<int32_t> ids;       // of `tokens`
    std::vector<TokenSpan> tokens;  // the last one grows while its token repeats
    double score = 0;
    int64_t num_frames = 0;
    // Of the last frame, may be the blank; -1 before the first frame of a stream and after passed
    // frames. In an utterance without a frame: of the last frame of the one before.
    int32_t last_id = -1;
  };

  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields);
  // What is wrong with a restored state; "" if nothing is.
  std::string Inconsistency() const;
  void AdvanceFrame(int32_t id, float log_prob);

  int vocab_size_;
  int blank_id_;
  State state_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_GREEDY_SEARCH_H_
