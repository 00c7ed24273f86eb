// Greedy search of a transducer: the most probable label at every step.
#ifndef RUNNEL_RUNTIME_SEARCH_TRANSDUCER_GREEDY_SEARCH_H_
#define RUNNEL_RUNTIME_SEARCH_TRANSDUCER_GREEDY_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/search/transducer_search.h"

namespace runnel {

// A frame emits tokens until the blank is the most probable label, or until max_symbols tokens. TDT
// goes on after each label by the most probable duration: 0 stays on the frame, except that a
// blank, and the last of max_symbols tokens, goes on by 1. As NeMo's GreedyBatchedTDTInfer.
//
// NBest has exactly one sequence. Its score is the log probability of the one alignment. A token
// lasts for its duration with TDT, otherwise one frame.
class TransducerGreedySearch : public TransducerSearch {
 public:
  // max_symbols: tokens of a frame, at least 1.
  TransducerGreedySearch(const Transducer& transducer, int max_symbols);
  // As many as the model says.
  explicit TransducerGreedySearch(const Transducer& transducer)
      : TransducerGreedySearch(transducer, transducer.config().max_symbols) {}

  void BeginFrame(const float* ctc_log_probs) override;
  void Answer(const float* log_probs) override;
  void TakeStates(const SharedPredictorState* states) override;
  float blank_log_prob() const override { return state_.blank_log_prob; }
  std::unique_ptr<TransducerSearch> Clone() const override;

  void Finish() override {}
  void StartUtterance(int64_t first_frame) override;
  void ContinueAfter(const std::vector<TokenSpan>& tokens) override;
  void ReturnTo(const std::vector<TokenSpan>& tokens, int64_t begin_frame) override;
  void Reset() override { StartUtterance(0); }
  std::vector<TokenSpan> BestTokensSince(size_t first) const override;
  const std::vector<int32_t>& BestIds() const override { return state_.ids; }
  size_t NumStableIds() const override { return state_.ids.size(); }
  int64_t num_frames() const override { return state_.num_frames; }
  void Save(StateWriter* writer) const override;
  void Restore(StateReader* reader) override;

 private:
  size_t num_sequences() const override { return 1; }
  TokenSequence SequenceAt(size_t /*rank*/) const override { return {state_.tokens, state_.score}; }

  // The whole state of the search between frames.
  struct State {
    std::vector<int32_t> ids;  // of `tokens`
    std::vector<TokenSpan> tokens;
    double score = 0;
    int64_t num_frames = 0;
    int64_t num_passed = 0;  // frames that TDT passes over next
    float blank_log_prob = 0;
    EarlierTokens earlier;
    SharedPredictorState predictor;
  };

  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields);
  // What is wrong with a restored state; "" if nothing is.
  std::string Inconsistency() const;
  // Ends the frame and passes over the next num_frames - 1.
  void GoOn(int64_t num_frames);

  const Transducer* transducer_;
  int max_symbols_;
  State state_;
  // Within a frame:
  int64_t num_symbols_ = 0;
  bool is_first_ = false;  // the frame has had no answer
  int64_t advance_ = 0;    // frames to go on by after the token that steps_ appends
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_TRANSDUCER_GREEDY_SEARCH_H_
