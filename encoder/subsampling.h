// From feature frames to encoder frames: strided convolutions and a linear layer.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_SUBSAMPLING_H_
#define RUNNEL_ENCODER_SUBSAMPLING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "encoder/dense.h"
#include "encoder/encoder_config.h"
#include "encoder/subsampling_geometry.h"
#include "encoder/weights.h"

namespace runnel {

// A convolution of a stage; the depthwise ones are followed by a pointwise one.
struct SubsamplingConvolution {
  at::Tensor weight;  // (channels, channels / groups, k, k)
  at::Tensor bias;
  at::Tensor pointwise_weight;  // (channels, channels, 1, 1) or undefined
  at::Tensor pointwise_bias;
  int64_t groups = 1;
};

// Takes <name>.conv.*: one per stage, first to last.
std::vector<SubsamplingConvolution> TakeSubsamplingConvolutions(Weights* weights,
                                                                const std::string& name,
                                                                const EncoderConfig& config);

// Width of the rows that <name>.out.0 reads: bins after the last stage times channels.
int64_t SubsampledDim(const EncoderConfig& config);

// Every stage is a convolution over (frame, bin) followed by ReLU; their result, channel by
// channel, goes through a linear layer. Immutable.
class Subsampling {
 public:
  // Takes <name>.conv.* and <name>.out.*, named as in models/README.md.
  Subsampling(Weights* weights, const std::string& name, const EncoderConfig& config);

  const SubsamplingGeometry& geometry() const { return geometry_; }

  // Encoder frames `wanted` -> (wanted.end - wanted.begin, d), at least one. features: (n,
  // input_dim), the stream's feature frames from `first_frame` on, all that these encoder frames
  // read. Zeros are padded before the stream's frame 0 and, when `num_frames` says where the stream
  // ends, after its last, at every stage alike.
  at::Tensor Forward(const at::Tensor& features, int64_t first_frame, FrameRange wanted,
                     std::optional<int64_t> num_frames) const;

 private:
  // The same for a few encoder frames at a time.
  at::Tensor ForwardBlock(const at::Tensor& features, int64_t first_frame, FrameRange wanted,
                          std::optional<int64_t> num_frames) const;

  SubsamplingGeometry geometry_;
  std::vector<SubsamplingConvolution> convolutions_;  // one per stage
  Linear out_;
  std::optional<LayerNorm> norm_;  // where there is no convolution
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_SUBSAMPLING_H_
