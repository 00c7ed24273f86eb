// Norms on the kernels: layer norm, alone or as the first step of a module, and BasicNorm.
#ifndef RUNNEL_ENCODER_CPU_LAYER_NORM_H_
#define RUNNEL_ENCODER_CPU_LAYER_NORM_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/kernels/matmul_input.h"
#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/cpu/kernels/scratch.h"
#include "encoder/encoder_weights.h"
#include "encoder/rows.h"

namespace runnel::cpu {

class LayerNorm final : public NormModule {
 public:
  explicit LayerNorm(const LayerNormWeights& weights)
      : weight_(Float32Values(weights.weight)),
        bias_(Float32Values(weights.bias)),
        epsilon_(static_cast<float>(weights.epsilon)) {}

  // None for null.
  static std::optional<LayerNorm> If(const LayerNormWeights* weights) {
    return weights == nullptr ? std::nullopt : std::make_optional<LayerNorm>(*weights);
  }

  kernels::NormWeights weights() const { return {weight_.data(), bias_.data(), epsilon_}; }

  void Normalize(Rows x) const override {
    kernels::LayerNorm(x.float32(), x.count, x.dim, weights(), x.float32());
  }

 private:
  std::vector<float> weight_;
  std::vector<float> bias_;
  float epsilon_;
};

class BasicNorm final : public NormModule {
 public:
  explicit BasicNorm(const BasicNormWeights& weights)
      : epsilon_(static_cast<float>(weights.epsilon)) {}

  void Normalize(Rows x) const override {
    kernels::BasicNorm(x.float32(), x.count, x.dim, epsilon_, x.float32());
  }

 private:
  float epsilon_;
};

// The rows, normalised where there is a norm, as a matmul reads them.
inline kernels::MatmulInput NormalizedInput(ConstRows x, const std::optional<LayerNorm>& norm,
                                            kernels::MatmulType type, kernels::Scratch* scratch) {
  const kernels::MatmulInput input = kernels::MatmulInput::Take(scratch, type, x.count, x.dim);
  if (norm) {
    kernels::LayerNorm(x.float32(), x.count, x.dim, norm->weights(), input);
  } else {
    kernels::StoreRows(x.float32(), x.count, input);
  }
  return input;
}

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_LAYER_NORM_H_
