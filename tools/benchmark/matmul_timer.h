// The time that oneDNN needs for matrix multiplications alone: those of a model, and the fastest
// that the CPU can do.
#ifndef RUNNEL_TOOLS_BENCHMARK_MATMUL_TIMER_H_
#define RUNNEL_TOOLS_BENCHMARK_MATMUL_TIMER_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/benchmark/matmuls.h"

namespace runnel {

// Times matmuls on the calling thread. Weights are packed beforehand in oneDNN's own layout.
class MatmulTimer {
 public:
  // precision: "float32", "bfloat16" (float32 sums) or "int8" (unsigned by signed, 32-bit sums).
  // Returns null for another precision, one that the CPU lacks, or in a build without oneDNN.
  // Every matmul has its own weight, so that the weights leave the cache as those of a model do.
  static std::unique_ptr<MatmulTimer> Make(const std::string& precision,
                                           const std::vector<Matmul>& matmuls);
  virtual ~MatmulTimer() = default;

  // Runs all matmuls once, in order. Returns the milliseconds of each part.
  virtual std::array<double, kNumModelParts> Run() = 0;

 protected:
  MatmulTimer() = default;
};

// 10^9 operations per second of the fastest of several matmuls whose weights stay in the cache, on
// the calling thread. No value where MatmulTimer::Make returns null.
std::optional<double> PeakGigaOperations(const std::string& precision, double seconds);

// "2.6.3"; "" without oneDNN.
std::string OneDnnVersion();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_MATMUL_TIMER_H_
