// The interface of a transducer search, which finds token sequences by asking the joint network.
#ifndef RUNNEL_RUNTIME_SEARCH_TRANSDUCER_SEARCH_H_
#define RUNNEL_RUNTIME_SEARCH_TRANSDUCER_SEARCH_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/search/search.h"
#include "runtime/search_options.h"
#include "runtime/transducer/transducer.h"

namespace runnel {

// The tokens that utterances before have in a frame which is searched again. They count as the
// present utterance's do among the max_symbols tokens of the frame.
struct EarlierTokens {
  int64_t frame = 0;
  int64_t count = 0;

  int64_t CountIn(int64_t searched_frame) const { return searched_frame == frame ? count : 0; }

  // Those of an utterance that begins with `next_frame`, after one that ended with `tokens`.
  EarlierTokens After(const std::vector<TokenSpan>& tokens, int64_t next_frame) const {
    const auto in_frame = std::count_if(
        tokens.begin(), tokens.end(),
        [next_frame](const TokenSpan& token) { return token.first_frame == next_frame; });
    return {next_frame, CountIn(next_frame) + in_frame};
  }

  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Counter(self.frame);
    fields.Counter(self.count);
  }
};

// Holds no network. Who advances it (runtime/stream/transducer_decoding.h) evaluates the joint
// network and the predictor for the searches of many streams at a time (label looping; Bataev et
// al. 2024, "Label-looping: highly efficient decoding for transducers"):
//
//   search.BeginFrame(...);
//   while (!search.queries().empty()) {
//     search.Answer(log probabilities of the queries);
//     search.TakeStates(states after search.steps());
//   }
class TransducerSearch : public Search {
 public:
  // Begins frame num_frames(). ctc_log_probs: (vocab_size) natural logarithms of the frame, of the
  // CTC head; null where the search has no weight for them.
  virtual void BeginFrame(const float* ctc_log_probs) = 0;

  // The predictor states whose joint with the frame is needed next. Empty: the frame is complete.
  const std::vector<const PredictorState*>& queries() const { return queries_; }

  // log_probs: (queries, num_outputs) as of Transducer::LogProbs. Throws std::invalid_argument when
  // the tokens or the durations of a row have no distribution; the search must then not be used.
  virtual void Answer(const float* log_probs) = 0;

  // The tokens to append after Answer; may be empty.
  const std::vector<TokenStep>& steps() const { return steps_; }

  // The states after `steps`, in their order.
  virtual void TakeStates(const SharedPredictorState* states) = 0;

  // Natural logarithm of the blank's probability in the last frame, where it was first evaluated
  // for the best sequence. A frame that TDT passes over has that of the frame before.
  virtual float blank_log_prob() const = 0;

  // Like ContinueAfter, but frames are given again: those from the first frame of the last token
  // on, or those after its duration; without tokens, those from `begin_frame` on, with which the
  // utterance began. num_frames() tells the first one. Where a frame may have max_symbols tokens,
  // those of `tokens` in a frame that is given again are counted (EarlierTokens).
  virtual void ReturnTo(const std::vector<TokenSpan>& tokens, int64_t begin_frame) = 0;

  virtual std::unique_ptr<TransducerSearch> Clone() const = 0;

 protected:
  // The frame in which a sequence goes on after its last token. Several tokens may begin in one
  // frame, unless the last one has a duration that leads further.
  virtual int64_t FrameAfter(const TokenSpan& last) const {
    return last.last_frame > last.first_frame ? last.last_frame + 1 : last.first_frame;
  }

  // Outcomes of the joint network, in error messages.
  static constexpr char kJointToken[] = "joint network, token";
  static constexpr char kJointDuration[] = "joint network, duration";

  std::vector<const PredictorState*> queries_;
  std::vector<TokenStep> steps_;
};

// `transducer` must outlive the search. Throws std::invalid_argument when an option is out of range
// or does not go with a transducer.
std::unique_ptr<TransducerSearch> MakeTransducerSearch(const SearchOptions& options,
                                                       const Transducer& transducer);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_TRANSDUCER_SEARCH_H_
