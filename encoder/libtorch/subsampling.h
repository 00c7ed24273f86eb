// The subsampling in LibTorch: strided convolutions and a linear layer.
#ifndef RUNNEL_ENCODER_LIBTORCH_SUBSAMPLING_H_
#define RUNNEL_ENCODER_LIBTORCH_SUBSAMPLING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/subsampling_geometry.h"

namespace runnel::libtorch {

// Every stage is a convolution over (frame, bin) followed by an activation. A linear layer maps
// their result, channel by channel, to d.
class Subsampling final : public SubsamplingModule {
 public:
  Subsampling(const SubsamplingWeights& weights, const EncoderConfig& config)
      : weights_(weights), geometry_(config.subsampling) {}

  void Forward(const std::vector<Segment>& segments, Rows x) const override;

  // Encoder frames `frames`, at least one -> (frames.end - frames.begin, d). features: (n,
  // input_dim), the stream's feature frames from `first_feature` on: all that these encoder frames
  // read. Zeros are padded before the stream's frame 0 and, once `num_features` says where the
  // stream ends, after its last frame, in every stage.
  at::Tensor Forward(const at::Tensor& features, int64_t first_feature, FrameRange frames,
                     std::optional<int64_t> num_features) const;

 private:
  // The same for a few encoder frames.
  at::Tensor ForwardBlock(const at::Tensor& features, int64_t first_feature, FrameRange frames,
                          std::optional<int64_t> num_features) const;

  SubsamplingWeights weights_;
  SubsamplingGeometry geometry_;
};

}  // namespace runnel::libtorch

#endif  // RUNNEL_ENCODER_LIBTORCH_SUBSAMPLING_H_
