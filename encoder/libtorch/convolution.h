// The gated depthwise convolution of a Conformer layer, with its left context cached.
#ifndef RUNNEL_ENCODER_LIBTORCH_CONVOLUTION_H_
#define RUNNEL_ENCODER_LIBTORCH_CONVOLUTION_H_

#include <ATen/core/Tensor.h>

#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/libtorch/depthwise.h"
#include "encoder/libtorch/tensor_module.h"

namespace runnel::libtorch {

// Pointwise convolution, gate (GLU), depthwise convolution, norm, activation, pointwise convolution
// (Gulati et al. 2020, section 2.2).
class Convolution final : public TensorModule {
 public:
  Convolution(const ConvolutionWeights& weights, const LayerNormWeights* norm,
              const ConvolutionConfig& config);

  at::Tensor Forward(const at::Tensor& x, const std::vector<Segment>& segments) const override;
  void Initialize(LayerState* state) const override;

 private:
  ConvolutionWeights weights_;
  ConvolutionConfig config_;
  Depthwise depthwise_;
  at::Tensor initial_frame_;  // (1, d): a gated frame before the stream's start
};

}  // namespace runnel::libtorch

#endif  // RUNNEL_ENCODER_LIBTORCH_CONVOLUTION_H_
