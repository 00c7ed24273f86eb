#include "tools/benchmark/memory_bandwidth.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>

#include "encoder/cpu/kernels/matmul/weight_memory.h"
#include "tools/benchmark/durations.h"

namespace runnel {
namespace {

constexpr int kMinPasses = 5;
constexpr double kMinMs = 50;  // of all passes

// Several independent sums, so that no addition waits for another.
uint64_t SumOf(const uint8_t* bytes, int64_t num_bytes) {
  std::array<uint64_t, 8> sums = {};
  for (int64_t i = 0; i < num_bytes; i += sizeof(sums)) {
    std::array<uint64_t, 8> values;
    std::memcpy(values.data(), bytes + i, sizeof(values));
    for (size_t k = 0; k < sums.size(); ++k) sums[k] += values[k];
  }
  return std::accumulate(sums.begin(), sums.end(), uint64_t{0});
}

}  // namespace

double MemoryBandwidth(int64_t num_bytes) {
  constexpr int64_t kStep = sizeof(std::array<uint64_t, 8>);
  const int64_t size = (num_bytes + kStep - 1) / kStep * kStep;
  const auto bytes = kernels::TakeWeightMemory(size);
  std::memset(bytes.get(), 1, static_cast<size_t>(size));  // untouched pages have no memory
  volatile uint64_t sum = 0;  // keeps the compiler from leaving out the reading
  double best_ms = std::numeric_limits<double>::infinity();
  double spent_ms = 0;
  for (int pass = 0; pass < kMinPasses || spent_ms < kMinMs; ++pass) {
    const double ms = MillisecondsOf([&] { sum = SumOf(bytes.get(), size); });
    best_ms = std::min(best_ms, ms);
    spent_ms += ms;
  }
  return static_cast<double>(size) / best_ms * 1e-6;
}

}  // namespace runnel
