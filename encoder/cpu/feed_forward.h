// The feed-forward module on the kernels.
#ifndef RUNNEL_ENCODER_CPU_FEED_FORWARD_H_
#define RUNNEL_ENCODER_CPU_FEED_FORWARD_H_

#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/layer_norm.h"
#include "encoder/cpu/options.h"
#include "encoder/cpu/packer.h"
#include "encoder/encoder_weights.h"

namespace runnel::cpu {

// Linear, activation, linear (Gulati et al. 2020, section 2.4), times the 1/2 of a macaron layer.
class FeedForward final : public ResidualModule {
 public:
  FeedForward(const FeedForwardWeights& weights, const LayerNormWeights* norm,
              const Options& options, Packer* packer);

  void Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const override;

 private:
  Options options_;
  std::optional<LayerNorm> norm_;
  kernels::PackedLinear w_1_;
  kernels::PackedLinear w_2_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_FEED_FORWARD_H_
