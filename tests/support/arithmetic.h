// The ways in which an encoder computes, and how exactly each must keep the promises of streaming.
#ifndef RUNNEL_TESTS_SUPPORT_ARITHMETIC_H_
#define RUNNEL_TESTS_SUPPORT_ARITHMETIC_H_

#include <ATen/core/Tensor.h>

#include <ostream>
#include <string>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/kernels/instruction_set.h"
#include "tests/support/tolerances.h"

namespace runnel::testing {

struct Arithmetic {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  EncoderOptions options;

  bool is_fast() const { return options.backend == EncoderOptions::Backend::kFast; }

  // Bounds on RelativeError. From the exact result:
  double FromExact() const { return FormulaTolerance(dtype); }
  // Chunk by chunk from the whole utterance under the mask: the kernels compute every row alike.
  double Chunked() const { return is_fast() ? 0.0 : FormulaTolerance(dtype); }
  // A stream in a batch from the stream alone.
  double Batched() const { return is_fast() ? 0.0 : kBatchTolerance; }
};

inline void PrintTo(const Arithmetic& arithmetic, std::ostream* out) { *out << arithmetic.name; }

inline Arithmetic FastArithmetic(const std::string& name, kernels::ProductPrecision precision,
                                 bool bfloat16_cache = false) {
  Arithmetic arithmetic{name, at::kFloat, {}};
  arithmetic.options.backend = EncoderOptions::Backend::kFast;
  arithmetic.options.fast.precision = precision;
  arithmetic.options.fast.bfloat16_cache = bfloat16_cache;
  return arithmetic;
}

// Those that compute what the model file says, but for rounding.
inline std::vector<Arithmetic> FullPrecision() {
  std::vector<Arithmetic> all = {{"Float", at::kFloat, {}}, {"Double", at::kDouble, {}}};
  if (kernels::UsedInstructionSet().has_products) {
    all.push_back(FastArithmetic("Fast", kernels::ProductPrecision::kFloat32));
  }
  return all;
}

// Those that compute something near it.
inline std::vector<Arithmetic> ReducedPrecision() {
  return {FastArithmetic("FastFloatBfloat16Cache", kernels::ProductPrecision::kFloat32, true),
          FastArithmetic("FastBfloat16", kernels::ProductPrecision::kBfloat16),
          FastArithmetic("FastInt8", kernels::ProductPrecision::kInt8),
          FastArithmetic("FastInt8Bfloat16Cache", kernels::ProductPrecision::kInt8, true)};
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_ARITHMETIC_H_
