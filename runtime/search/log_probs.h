// Log probabilities: the checks that all searches make of their input, and addition.
#ifndef RUNNEL_RUNTIME_SEARCH_LOG_PROBS_H_
#define RUNNEL_RUNTIME_SEARCH_LOG_PROBS_H_

#include <cstdint>
#include <vector>

namespace runnel {

// The most probable token of each frame; of equally probable ones the lowest id. log_probs:
// (num_frames, vocab_size) row-major, natural logarithms; minus infinity is probability zero.
// Throws std::invalid_argument naming the frame (0 is the first of this call) and the token when a
// value is NaN or plus infinity, or when every token of a frame has probability zero.
std::vector<int32_t> MostProbableIds(const float* log_probs, int64_t num_frames, int vocab_size);

// log(exp(a) + exp(b)); both may be minus infinity.
double LogAdd(double a, double b);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_LOG_PROBS_H_
