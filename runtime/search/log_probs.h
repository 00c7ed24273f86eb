// Log probabilities: the checks that all searches make of their input, and addition.
#ifndef RUNNEL_RUNTIME_SEARCH_LOG_PROBS_H_
#define RUNNEL_RUNTIME_SEARCH_LOG_PROBS_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace runnel {

// The most probable of `size` outcomes; of equally probable ones the lowest. log_probs: natural
// logarithms; minus infinity is probability zero. Throws std::invalid_argument that begins with
// `what`, the name of an outcome, when a value is NaN or plus infinity, or when every outcome has
// probability zero.
int32_t MostProbableId(const float* log_probs, int size, const char* what);

// The same for the tokens of each frame. log_probs: (num_frames, vocab_size) row-major. The message
// names the frame, of which `first_frame` is the first.
std::vector<int32_t> MostProbableIds(const float* log_probs, int64_t num_frames, int vocab_size,
                                     int64_t first_frame);

// Orders outcomes; of equally probable ones the lower comes first.
struct MoreProbable {
  const float* log_probs;
  bool operator()(int32_t a, int32_t b) const {
    return log_probs[a] > log_probs[b] || (log_probs[a] == log_probs[b] && a < b);
  }
};

// log(exp(a) + exp(b)); both may be minus infinity.
double LogAdd(double a, double b);

// The probability of a logarithm, which a log-softmax may round to just above zero.
inline float Confidence(float log_prob) { return std::min(1.0F, std::exp(log_prob)); }

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_LOG_PROBS_H_
