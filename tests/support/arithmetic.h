// The backends and data types that an encoder is tested with, and how exactly each of them must
// keep the promises of streaming.
#ifndef RUNNEL_TESTS_SUPPORT_ARITHMETIC_H_
#define RUNNEL_TESTS_SUPPORT_ARITHMETIC_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/libtorch/backend.h"
#include "encoder/model_file/weights.h"
#include "tests/support/tolerances.h"

namespace runnel::testing {

struct Arithmetic {
  std::string name;
  at::ScalarType dtype = at::kFloat;
  std::optional<cpu::Options> cpu;  // none: the LibTorch backend

  std::unique_ptr<const EncoderBackend> MakeBackend(const EncoderConfig& config,
                                                    Weights* weights) const {
    return cpu ? MakeCpuBackend(config, weights, *cpu) : MakeLibTorchBackend(config, weights);
  }

  // Bounds on RelativeError. From the exact result:
  double FromExact() const { return FormulaTolerance(dtype); }
  // Chunk by chunk from the whole utterance under the mask. The CPU backend computes each row
  // alike.
  double Chunked() const { return cpu ? 0.0 : FormulaTolerance(dtype); }
  // A stream in a batch from the stream alone.
  double Batched() const { return cpu ? 0.0 : kBatchTolerance; }
};

inline void PrintTo(const Arithmetic& arithmetic, std::ostream* out) { *out << arithmetic.name; }

inline Arithmetic LibTorchArithmetic(at::ScalarType dtype) {
  return {c10::toString(dtype), dtype, std::nullopt};
}

// Those that compute what the model file says, but for rounding.
inline std::vector<Arithmetic> FullPrecision() {
  return {LibTorchArithmetic(at::kFloat),
          LibTorchArithmetic(at::kDouble),
          {"Cpu", at::kFloat, cpu::Options()}};
}

// Those that approximate it.
inline std::vector<Arithmetic> ReducedPrecision() {
  using kernels::MatmulType;
  return {{"CpuFloatBfloat16Cache", at::kFloat, cpu::Options{MatmulType::kFloat32, true}},
          {"CpuBfloat16", at::kFloat, cpu::Options{MatmulType::kBfloat16, false}},
          {"CpuInt8", at::kFloat, cpu::Options{MatmulType::kInt8, false}},
          {"CpuInt8Bfloat16Cache", at::kFloat, cpu::Options{MatmulType::kInt8, true}}};
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_ARITHMETIC_H_
