// The convolution module on the kernels.
#ifndef RUNNEL_ENCODER_CPU_CONVOLUTION_H_
#define RUNNEL_ENCODER_CPU_CONVOLUTION_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/kernels/depthwise_kernel.h"
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

  void AddTo(const std::vector<Segment>& segments, Rows x) const override;
  void Initialize(LayerState* state) const override;

 private:
  kernels::DepthwiseWeights depthwise() const;

  Options options_;
  int64_t dim_;
  int64_t left_frames_;   // that a frame reads before itself
  int64_t right_frames_;  // that it reads after itself, within its chunk
  int64_t kernel_size_;
  Activation activation_;
  std::optional<LayerNorm> norm_;  // before the module
  kernels::PackedLinear pointwise_1_;
  std::vector<float> initial_frame_;         // (d): a gated frame before the stream's start
  std::vector<float> taps_;                  // (kernel_size, d)
  std::vector<float> bias_;                  // (d)
  std::optional<LayerNorm> norm_depthwise_;  // after the depthwise convolution
  kernels::PackedLinear pointwise_2_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_CONVOLUTION_H_
