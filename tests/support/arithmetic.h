// The backends and data types that an encoder is tested with, and how exactly each of them must
// keep the promises of streaming.
#ifndef RUNNEL_TESTS_SUPPORT_ARITHMETIC_H_
#define RUNNEL_TESTS_SUPPORT_ARITHMETIC_H_

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/model_file/weights.h"
#include "encoder/rows.h"
#include "runtime/model/reference_component.h"
#include "tests/support/tolerances.h"

namespace runnel::testing {

// Whether this build has the LibTorch backend. If it has, a test that cannot load it fails.
#ifdef RUNNEL_LIBTORCH
constexpr bool kHasLibTorch = true;
#else
constexpr bool kHasLibTorch = false;
#endif

struct Arithmetic {
  std::string name;
  DataType type = DataType::kFloat32;
  std::optional<cpu::Options> cpu;  // none: the LibTorch backend

  std::unique_ptr<const EncoderBackend> MakeBackend(const EncoderConfig& config,
                                                    Weights* weights) const {
    return cpu ? MakeCpuBackend(config, weights, *cpu) : MakeReferenceBackend(config, weights);
  }

  // Bounds on RelativeError. From the exact result:
  double FromExact() const { return FormulaTolerance(type); }
  // Chunk by chunk from the whole utterance under the mask. The CPU backend computes each row
  // alike.
  double Chunked() const { return cpu ? 0.0 : FormulaTolerance(type); }
  // A stream in a batch from the stream alone.
  double Batched() const { return cpu ? 0.0 : kBatchTolerance; }
};

inline void PrintTo(const Arithmetic& arithmetic, std::ostream* out) { *out << arithmetic.name; }

inline Arithmetic CpuArithmetic() { return {"Cpu", DataType::kFloat32, cpu::Options()}; }

// Where kHasLibTorch is true.
inline Arithmetic LibTorchArithmetic(DataType type) {
  return {type == DataType::kFloat64 ? "LibTorchFloat64" : "LibTorchFloat32", type, std::nullopt};
}

// Those of this build that compute what the model file says, but for rounding.
inline std::vector<Arithmetic> FullPrecision() {
  if (!kHasLibTorch) return {CpuArithmetic()};
  return {LibTorchArithmetic(DataType::kFloat32), LibTorchArithmetic(DataType::kFloat64),
          CpuArithmetic()};
}

// The one of them that rounds least.
inline Arithmetic MostExact() {
  return kHasLibTorch ? LibTorchArithmetic(DataType::kFloat64) : CpuArithmetic();
}

// Those that approximate it.
inline std::vector<Arithmetic> ReducedPrecision() {
  using kernels::MatmulType;
  constexpr DataType kType = DataType::kFloat32;
  return {{"CpuFloatBfloat16Cache", kType, cpu::Options{MatmulType::kFloat32, true}},
          {"CpuBfloat16", kType, cpu::Options{MatmulType::kBfloat16, false}},
          {"CpuInt8", kType, cpu::Options{MatmulType::kInt8, false}},
          {"CpuInt8Bfloat16Cache", kType, cpu::Options{MatmulType::kInt8, true}}};
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_ARITHMETIC_H_
