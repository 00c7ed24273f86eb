// The gated causal depthwise convolution of a Conformer layer, with its left context cached.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_CONVOLUTION_H_
#define RUNNEL_ENCODER_CONVOLUTION_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "encoder/dense.h"
#include "encoder/encoder_config.h"
#include "encoder/layer_state.h"
#include "encoder/weights.h"

namespace runnel {

// Pointwise convolution, gate (GLU), depthwise convolution over frames t-K+1 .. t, layer norm,
// swish, pointwise convolution (Gulati et al. 2020, section 2.2, made causal). Frames before the
// start of the stream count as zero after the gate.
class CausalConvolution {
 public:
  // Takes <name>.pointwise_conv1, .depthwise_conv, .norm and .pointwise_conv2.
  CausalConvolution(Weights* weights, const std::string& name, const EncoderConfig& config);

  // (total_rows, d) -> (total_rows, d). Each segment's cnn_cache moves on to its last K-1 frames.
  at::Tensor Forward(const at::Tensor& x, const LayerBatch& batch) const;

  // The cnn_cache of a stream that has heard nothing.
  FrameBuffer InitialCache() const;

 private:
  // One segment: (K - 1 + n, d) gated frames -> (n, d).
  at::Tensor Depthwise(const at::Tensor& gated) const;

  Linear pointwise_conv1_;
  at::Tensor depthwise_weight_;  // (K, d), oldest frame first
  at::Tensor depthwise_bias_;    // (d)
  LayerNorm norm_;
  Linear pointwise_conv2_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CONVOLUTION_H_
