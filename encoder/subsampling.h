// From feature frames to encoder frames: convolutions of stride 2, twice.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_SUBSAMPLING_H_
#define RUNNEL_ENCODER_SUBSAMPLING_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "encoder/dense.h"
#include "encoder/encoder_config.h"
#include "encoder/weights.h"

namespace runnel {

// conv2d4: two 3x3 convolutions of stride 2 without padding, each with ReLU, then a linear layer.
// Encoder frame t reads feature frames 4t .. 4t+6.
class Conv2dSubsampling4 {
 public:
  static constexpr int64_t kRate = 4;          // feature frames per encoder frame
  static constexpr int64_t kRightContext = 6;  // feature frames read after the first

  // Takes <name>.conv.0, <name>.conv.2 and <name>.out.0.
  Conv2dSubsampling4(Weights* weights, const std::string& name, const EncoderConfig& config);

  // Encoder frames that `num_frames` feature frames give: ((T-1)//2-1)//2, 0 when T < 7.
  static int64_t NumEncoderFrames(int64_t num_frames);

  // (T, input_dim) with T >= 7 -> (NumEncoderFrames(T), d)
  at::Tensor Forward(const at::Tensor& features) const;

 private:
  at::Tensor conv0_weight_;  // (d, 1, 3, 3)
  at::Tensor conv0_bias_;
  at::Tensor conv2_weight_;  // (d, d, 3, 3)
  at::Tensor conv2_bias_;
  Linear out_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_SUBSAMPLING_H_
