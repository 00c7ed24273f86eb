#include "tools/benchmark/memory_bandwidth.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "encoder/cpu/kernels/matmul/weight_memory.h"
#include "tools/benchmark/durations.h"

namespace runnel {
namespace {

constexpr int kMinPasses = 5;
constexpr int64_t kLineBytes = 64;

// Of the first word of every cache line: a line comes as a whole, and reading all of its words
// takes longer than that where it comes from a cache. Two sums, so that no addition waits for
// another.
uint64_t SumOf(const uint8_t* bytes, int64_t num_lines) {
  std::array<uint64_t, 2> sums = {};
  for (int64_t line = 0; line < num_lines; line += 2) {
    for (int64_t k = 0; k < 2; ++k) {
      uint64_t word = 0;
      std::memcpy(&word, bytes + (line + k) * kLineBytes, sizeof(word));
      sums[static_cast<size_t>(k)] += word;
    }
  }
  return sums[0] + sums[1];
}

}  // namespace

double MemoryBandwidth(int64_t num_bytes, double min_ms) {
  const int64_t num_lines = (num_bytes + 2 * kLineBytes - 1) / (2 * kLineBytes) * 2;
  const int64_t size = num_lines * kLineBytes;
  const auto bytes = kernels::TakeWeightMemory(size);
  std::memset(bytes.get(), 1, static_cast<size_t>(size));  // untouched pages have no memory
  volatile uint64_t sum = 0;  // keeps the compiler from leaving out the reading
  double best_ms = std::numeric_limits<double>::infinity();
  double spent_ms = 0;
  for (int pass = 0; pass < kMinPasses || spent_ms < min_ms; ++pass) {
    const double ms = MillisecondsOf([&] { sum = SumOf(bytes.get(), num_lines); });
    best_ms = std::min(best_ms, ms);
    spent_ms += ms;
  }
  return static_cast<double>(size) / best_ms * 1e-6;
}

}  // namespace runnel
