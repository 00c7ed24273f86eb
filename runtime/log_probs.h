// The checks of what enters a search, the same for all searches, and sums of probabilities.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools.
#ifndef RUNNEL_RUNTIME_LOG_PROBS_H_
#define RUNNEL_RUNTIME_LOG_PROBS_H_

#include <cstdint>
#include <vector>

namespace runnel {

// Throws std::invalid_argument unless vocab_size is at least 1 and blank_id one of its ids.
void CheckVocabulary(int vocab_size, int blank_id);

// The most probable token of each frame, the first of equals. log_probs: (num_frames, vocab_size)
// row-major. A token of probability zero (minus infinity) is fine. Throws std::invalid_argument
// naming frame and token, counted from this call's first, when a value is NaN or plus infinity, or
// every token of a frame has probability zero: a search could only go on with a result that means
// nothing.
std::vector<int32_t> MostProbableIds(const float* log_probs, int64_t num_frames, int vocab_size);

// log(exp(a) + exp(b)), minus infinity included.
double LogAdd(double a, double b);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LOG_PROBS_H_
