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

// -1 if there is none.
int64_t FindMostProbable(const float* log_probs, int size) {
  const int64_t id = kernels::IndexOfMaximum(log_probs, size);
  return id < 0 || log_probs[id] == -kInfinity ? -1 : id;
}

// Says what is wrong with a distribution that has no most probable outcome.
[[noreturn]] void ThrowFor(const float* log_probs, int size, const std::string& what) {
  for (int id = 0; id < size; ++id) {
    if (log_probs[id] < kInfinity) continue;
    throw std::invalid_argument(what + " " + std::to_string(id) +
                                ": expected a logarithm of a probability, got " +
                                std::to_string(log_probs[id]));
  }
  throw std::invalid_argument(what + " 0 to " + std::to_string(size - 1) +
                              ": expected a distribution, got probability zero for all");
}

}  // namespace

int32_t MostProbableId(const float* log_probs, int size, const char* what) {
  const int64_t id = FindMostProbable(log_probs, size);
  if (id < 0) ThrowFor(log_probs, size, what);
  return static_cast<int32_t>(id);
}

std::vector<int32_t> MostProbableIds(const float* log_probs, int64_t num_frames, int vocab_size,
                                     int64_t first_frame) {
  if (num_frames < 0) {
    throw std::invalid_argument("num_frames must be 0 or more, got " + std::to_string(num_frames));
  }
  if (num_frames > 0 && log_probs == nullptr) {
    throw std::invalid_argument("log_probs is null, expected " + std::to_string(num_frames) +
                                " frames");
  }
  std::vector<int32_t> ids(static_cast<size_t>(num_frames));
  for (int64_t t = 0; t < num_frames; ++t) {
    const float* frame = log_probs + t * vocab_size;
    const int64_t id = FindMostProbable(frame, vocab_size);
    if (id < 0) {
      ThrowFor(frame, vocab_size, "encoder frame " + std::to_string(first_frame + t) + ", token");
    }
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
