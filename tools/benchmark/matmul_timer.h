// The time of matrix multiplications alone: those of a model, and the fastest that were measured.
#ifndef RUNNEL_TOOLS_BENCHMARK_MATMUL_TIMER_H_
#define RUNNEL_TOOLS_BENCHMARK_MATMUL_TIMER_H_

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "tools/benchmark/matmuls.h"

namespace runnel {

// Times matmuls with packed weights on the calling thread.
class MatmulTimer {
 public:
  // precision: "float32", "bfloat16", "int8" or "int4"; no value for another. Every matmul has its
  // own weight, so that the weights leave the cache as those of a model do.
  static std::optional<MatmulTimer> Make(const std::string& precision,
                                         const std::vector<Matmul>& matmuls);

  // Runs all matmuls once, in order. Returns the milliseconds of each part.
  std::array<double, kNumModelParts> Run();

 private:
  struct Operation {
    ModelPart part;
    int64_t rows;
    kernels::PackedLinear linear;
  };

  kernels::MatmulType type_ = kernels::MatmulType::kFloat32;
  std::vector<Operation> operations_;
  std::vector<float> values_;  // of the rows of every matmul
  int64_t max_inputs_ = 0;
  int64_t max_outputs_ = 0;
};

// 10^9 operations per second of the fastest of several matmuls whose weights stay in the cache, on
// the calling thread. No value for another precision.
std::optional<double> PeakGigaOperations(const std::string& precision, double seconds);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_MATMUL_TIMER_H_
