#include "runtime/search/log_probs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "encoder/cpu/kernels/row_kernels.h"

namespace runnel {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Says what is wrong with a frame, for which there is no most probable token.
[[noreturn]] void ThrowFor(const float* frame, int64_t t, int vocab_size) {
  const std::string where = "CTC search: log_probs of frame " + std::to_string(t);
  for (int id = 0; id < vocab_size; ++id) {
    if (frame[id] < kInfinity) continue;
    throw std::invalid_argument(where + ", token " + std::to_string(id) +
                                ": expected a logarithm of a probability, got " +
                                std::to_string(frame[id]));
  }
  throw std::invalid_argument(where + ": expected a distribution, got probability zero for all " +
                              std::to_string(vocab_size) + " tokens");
}

}  // namespace

std::vector<int32_t> MostProbableIds(const float* log_probs, int64_t num_frames, int vocab_size) {
  if (num_frames < 0) {
    throw std::invalid_argument("CTC search: num_frames must be 0 or more, got " +
                                std::to_string(num_frames));
  }
  if (num_frames > 0 && log_probs == nullptr) {
    throw std::invalid_argument("CTC search: log_probs is null, expected " +
                                std::to_string(num_frames) + " frames");
  }
  std::vector<int32_t> ids(static_cast<size_t>(num_frames));
  for (int64_t t = 0; t < num_frames; ++t) {
    const float* frame = log_probs + t * vocab_size;
    const int64_t id = kernels::IndexOfMaximum(frame, vocab_size);
    if (id < 0 || frame[id] == -kInfinity) ThrowFor(frame, t, vocab_size);
    ids[static_cast<size_t>(t)] = static_cast<int32_t>(id);
  }
  return ids;
}

double LogAdd(double a, double b) {
  const double high = std::max(a, b);
  if (std::isinf(high)) return high;
  return high + std::log1p(std::exp(std::min(a, b) - high));
}

}  // namespace runnel
