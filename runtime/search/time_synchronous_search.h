// Beam search of a transducer that emits several tokens per frame.
#ifndef RUNNEL_RUNTIME_SEARCH_TIME_SYNCHRONOUS_SEARCH_H_
#define RUNNEL_RUNTIME_SEARCH_TIME_SYNCHRONOUS_SEARCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/search/transducer_beam_search.h"

namespace runnel {

// Time-synchronous decoding (Saon et al. 2020, "Alignment-length synchronous decoding for RNN
// transducer", section 2; NeMo's search type tsd): within a frame the beam_size best hypotheses are
// extended by one token after the other, up to max_symbols; each may end the frame by a blank,
// which is scored. Hypotheses that leave the frame are merged when they are equal, then the best
// are kept.
//
// With TDT, a label of duration d goes on to frame t + d, and a hypothesis waits until its frame
// comes. A token of duration 0 stays on the frame, a blank goes on by 1 at least. For each frame
// that hypotheses wait for, equal ones are merged and the beam_size best are kept. At the end of
// the utterance equal ones are merged whatever frame they wait for.
class TimeSynchronousSearch final : public TransducerBeamSearch {
 public:
  TimeSynchronousSearch(const SearchOptions& options, const Transducer& transducer,
                        int max_symbols);

  void BeginFrame(const float* ctc_log_probs) override;
  void Answer(const float* log_probs) override;
  std::unique_ptr<TransducerSearch> Clone() const override;

 private:
  // A hypothesis whose score is so much lower than those of beam_size that leave the frame gets no
  // further token in it. Natural logarithm.
  static constexpr double kMostBehind = 20;

  void Continue(std::vector<Hypothesis> hypotheses) override;
  // The candidates of one hypothesis.
  void Extend(const Hypothesis& hypothesis, const float* log_probs);
  void DropHopeless();  // of staying_
  // Merges what leaves the frame, and keeps the best.
  void LeaveFrame();

  int max_symbols_;
  // Within a frame. Level n holds the hypotheses with n tokens of this frame in this utterance.
  std::vector<std::vector<Hypothesis>> levels_;
  std::vector<Candidate> staying_;         // with a further token of this frame
  std::vector<Candidate> leaving_tokens_;  // with a token of a duration above 0
  std::vector<Hypothesis> leaving_;
  bool is_leaving_ = false;  // what is requested is the beam of the next frame
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_TIME_SYNCHRONOUS_SEARCH_H_
