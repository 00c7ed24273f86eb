// One Conformer layer over a ragged batch.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_CONFORMER_LAYER_H_
#define RUNNEL_ENCODER_CONFORMER_LAYER_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <string>

#include "encoder/attention.h"
#include "encoder/convolution.h"
#include "encoder/dense.h"
#include "encoder/encoder_config.h"
#include "encoder/layer_state.h"
#include "encoder/weights.h"

namespace runnel {

// Gulati et al. 2020, section 2: half-step feed-forward, attention, convolution, half-step
// feed-forward, norm. Immutable after construction; Forward may run in several threads at once on
// different states.
class ConformerLayer {
 public:
  // Takes every tensor under `name` but those of the position scheme.
  ConformerLayer(Weights* weights, const std::string& name, const EncoderConfig& config,
                 std::shared_ptr<const PositionScheme> position);

  // (total_rows, d) -> (total_rows, d); advances each segment's state.
  at::Tensor Forward(at::Tensor x, const LayerBatch& batch) const;

  // What the layer remembers of a stream that has heard nothing.
  LayerState InitialState() const;

 private:
  LayerNorm norm_ff_macaron_;
  FeedForward feed_forward_macaron_;
  LayerNorm norm_mha_;
  Attention self_attn_;
  LayerNorm norm_conv_;
  CausalConvolution conv_module_;
  LayerNorm norm_ff_;
  FeedForward feed_forward_;
  LayerNorm norm_final_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CONFORMER_LAYER_H_
