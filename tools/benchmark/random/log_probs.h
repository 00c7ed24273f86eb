// Log probabilities like those of a trained CTC model, for measurements of a search.
#ifndef RUNNEL_TOOLS_BENCHMARK_RANDOM_LOG_PROBS_H_
#define RUNNEL_TOOLS_BENCHMARK_RANDOM_LOG_PROBS_H_

#include <cstdint>
#include <vector>

namespace runnel {

// Frames, (num_frames, vocab_size) row-major, in which `tokens` are recognised one after the other
// with some doubt: each has one frame, in which it has probability 0.6, four random tokens 0.05
// each and the blank (id 0) 0.2, and three frames after it in which the blank has 0.97. The same
// arguments give the same frames.
std::vector<float> RandomLogProbs(const std::vector<int32_t>& tokens, int vocab_size);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_RANDOM_LOG_PROBS_H_
