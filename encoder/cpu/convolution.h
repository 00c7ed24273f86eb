// The convolution module on the kernels.
#ifndef RUNNEL_ENCODER_CPU_CONVOLUTION_H_
#define RUNNEL_ENCODER_CPU_CONVOLUTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/depthwise.h"
#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/layer_norm.h"
#include "encoder/cpu/options.h"
#include "encoder/cpu/packer.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"

namespace runnel::cpu {

// The computation of libtorch::Convolution.
class Convolution final : public ResidualModule {
 public:
  Convolution(const ConvolutionWeights& weights, const LayerNormWeights* norm,
              const ConvolutionConfig& config, const Options& options, Packer* packer);

  void Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const override;
  void Initialize(LayerState* state) const override;

 private:
  Options options_;
  int64_t dim_;
  std::optional<LayerNorm> norm_;  // before the module
  kernels::PackedLinear pointwise_1_;
  std::vector<float> initial_frame_;  // (d): a gated frame before the stream's start
  Depthwise depthwise_;
  int64_t stride_;  // of the depthwise convolution
  kernels::PackedLinear pointwise_2_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_CONVOLUTION_H_
