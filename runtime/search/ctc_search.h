// The interface of a CTC search, which finds token sequences in frames of log probabilities.
#ifndef RUNNEL_RUNTIME_SEARCH_CTC_SEARCH_H_
#define RUNNEL_RUNTIME_SEARCH_CTC_SEARCH_H_

#include <cstdint>
#include <memory>

#include "runtime/search/search.h"
#include "runtime/search_options.h"

namespace runnel {

class CtcSearch : public Search {
 public:
  // log_probs: (num_frames, vocab_size) row-major, natural logarithm; minus infinity is probability
  // zero. Throws std::invalid_argument, and has changed nothing, when a value is NaN or plus
  // infinity or every token of a frame has probability zero.
  virtual void Advance(const float* log_probs, int64_t num_frames) = 0;

  static constexpr int32_t kNoToken = -1;

  // Forgets all sequences like StartUtterance, but as if the frame before had emitted
  // `token_before`, whose repetitions in the first frames are no new token; kNoToken: none.
  virtual void StartUtteranceAfter(int32_t token_before, int64_t first_frame) = 0;

  // The token that the best alignment emits in the last frame, which may be of the utterance
  // before; kNoToken for the blank and before the first frame.
  virtual int32_t TokenOfLastFrame() const = 0;

  virtual std::unique_ptr<CtcSearch> Clone() const = 0;
};

// vocab_size and blank_id are those of the model's `ctc` section. Throws std::invalid_argument when
// they are out of range, an option is, or the word list is of a model with others.
std::unique_ptr<CtcSearch> MakeCtcSearch(const SearchOptions& options, int vocab_size,
                                         int blank_id);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_CTC_SEARCH_H_
