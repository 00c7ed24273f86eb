// One Conformer layer over a ragged batch.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_CONFORMER_LAYER_H_
#define RUNNEL_ENCODER_CONFORMER_LAYER_H_

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <string>

#include "encoder/attention.h"
#include "encoder/convolution.h"
#include "encoder/dense.h"
#include "encoder/encoder_config.h"
#include "encoder/layer_state.h"
#include "encoder/weights.h"

namespace runnel {

// Gulati et al. 2020, section 2: half-step feed-forward, attention, convolution, half-step
// feed-forward, norm. Without convolution and the first feed-forward module it is a Transformer's.
// Immutable after construction; Forward may run in several threads at once on different states.
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
  // x + scale * branch(norm(x)), or norm(x + scale * branch(x)).
  template <typename Branch>
  at::Tensor AddBranch(const at::Tensor& x, const LayerNorm& norm, double scale,
                       const Branch& branch) const;

  // A module and the norm before (or after) it.
  template <typename Module>
  struct Normed {
    LayerNorm norm;
    Module module;
  };

  bool norm_first_;
  double feed_forward_scale_;
  std::optional<Normed<FeedForward>> feed_forward_macaron_;
  LayerNorm norm_mha_;
  Attention self_attn_;
  std::optional<Normed<Convolution>> conv_module_;
  LayerNorm norm_ff_;
  FeedForward feed_forward_;
  std::optional<LayerNorm> norm_final_;  // where there is a convolution
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CONFORMER_LAYER_H_
