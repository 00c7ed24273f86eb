// The gated depthwise convolution of a Conformer layer, with its left context cached.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_CONVOLUTION_H_
#define RUNNEL_ENCODER_CONVOLUTION_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "encoder/dense.h"
#include "encoder/depthwise_filter.h"
#include "encoder/encoder_config.h"
#include "encoder/layer_state.h"
#include "encoder/weights.h"

namespace runnel {

// Pointwise convolution, gate (GLU), depthwise convolution, norm, activation, pointwise convolution
// (Gulati et al. 2020, section 2.2). Which frames the depthwise convolution reads is
// ConvolutionConfig::type; one that reads frames after its own has zeros after the chunk's end
// (Dynamic Chunk Convolution, Li et al. 2023), which for a whole utterance is its end.
class Convolution {
 public:
  // Takes <name>.pointwise_conv1, .depthwise_conv, .norm and .pointwise_conv2. A batch norm is
  // folded into the depthwise convolution.
  Convolution(Weights* weights, const std::string& name, int64_t dim,
              const ConvolutionConfig& config);

  // (total_rows, d) -> (total_rows, d). Each segment's cnn_cache moves on to its last frames.
  at::Tensor Forward(const at::Tensor& x, const LayerBatch& batch) const;

  // The cnn_cache of a stream that has heard nothing.
  FrameBuffer InitialCache() const;

 private:
  // One chunk: (left + n, d) gated frames -> (n, d).
  at::Tensor Depthwise(const at::Tensor& gated) const;

  int64_t left_frames_;   // read before a frame
  int64_t right_frames_;  // read after it, within the chunk
  Linear pointwise_conv1_;
  at::Tensor initial_frame_;  // (1, d): what stands for a gated frame before the stream's start
  DepthwiseFilter depthwise_;
  std::optional<LayerNorm> norm_;
  Activation activation_;
  Linear pointwise_conv2_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CONVOLUTION_H_
