// The convolution module on the kernels.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_FAST_FAST_CONVOLUTION_H_
#define RUNNEL_ENCODER_FAST_FAST_CONVOLUTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/fast/fast_layer_state.h"
#include "encoder/fast/fast_options.h"
#include "encoder/fast/fast_rows.h"
#include "encoder/kernels/depthwise_kernel.h"
#include "encoder/kernels/packed_linear.h"
#include "encoder/weights.h"

namespace runnel {

// Convolution (encoder/convolution.h) with the residual connection.
class FastConvolution {
 public:
  FastConvolution(Weights* weights, const std::string& name, int64_t dim,
                  const ConvolutionConfig& config, const FastOptions& options);

  // x = x + module(norm(x)), or of x where norm is null; each segment's cnn_cache moves on.
  void AddTo(const FastRows& x, const FastLayerNorm* norm, const FastBatch& batch) const;

  // The cnn_cache of a stream that has heard nothing.
  RowRing InitialCache() const;

 private:
  kernels::DepthwiseWeights depthwise() const;

  FastOptions options_;
  int64_t dim_;
  int64_t left_frames_;
  int64_t right_frames_;
  int64_t kernel_size_;
  Activation activation_;
  kernels::PackedLinear pointwise_conv1_;
  std::vector<float> initial_frame_;  // (d)
  std::vector<float> taps_;           // (K, d)
  std::vector<float> bias_;           // (d)
  std::optional<FastLayerNorm> norm_;
  kernels::PackedLinear pointwise_conv2_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_FAST_CONVOLUTION_H_
