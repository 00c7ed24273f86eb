// The subsampling on the kernels.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_FAST_FAST_SUBSAMPLING_H_
#define RUNNEL_ENCODER_FAST_FAST_SUBSAMPLING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encoder/encoder_config.h"
#include "encoder/encoder_core.h"
#include "encoder/fast/fast_options.h"
#include "encoder/fast/fast_rows.h"
#include "encoder/kernels/image_kernels.h"
#include "encoder/kernels/packed_linear.h"
#include "encoder/subsampling_geometry.h"
#include "encoder/weights.h"

namespace runnel {

// Subsampling (encoder/subsampling.h) for all segments of a step. Convolutions are products of the
// patches that they read.
class FastSubsampling {
 public:
  // Takes the tensors of Subsampling.
  FastSubsampling(Weights* weights, const std::string& name, const EncoderConfig& config,
                  const FastOptions& options);

  // Fills x with the wanted encoder frames of all segments, in their order.
  void Forward(const std::vector<CoreSegment>& segments, const FastRows& x) const;

 private:
  // A convolution after the first: a product of patches, or depthwise and then a product.
  struct Stage {
    std::vector<float> depthwise_weight;  // (k * k, channels), where there is one
    std::vector<float> depthwise_bias;
    kernels::PackedLinear product;
  };

  // A few encoder frames of a segment, as the last layer reads them: (wanted, bins * channels).
  void Convolve(const CoreSegment& segment, FrameRange wanted, float* y) const;

  FastOptions options_;
  SubsamplingGeometry geometry_;
  int64_t input_dim_;
  int64_t channels_ = 0;
  std::vector<float> first_weight_;  // (k * k, channels)
  std::vector<float> first_bias_;
  std::vector<Stage> stages_;  // all but the first
  int64_t row_dim_;            // of what the last layer reads
  kernels::PackedLinear out_;
  std::optional<FastLayerNorm> norm_;  // where there is no convolution
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_FAST_SUBSAMPLING_H_
