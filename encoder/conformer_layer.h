// One Conformer layer over a ragged batch, for every backend.
#ifndef RUNNEL_ENCODER_CONFORMER_LAYER_H_
#define RUNNEL_ENCODER_CONFORMER_LAYER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/encoder_layer.h"
#include "encoder/layer_state.h"
#include "encoder/rows.h"

namespace runnel {

struct ConformerLayerWeights;

// Gulati et al. 2020, section 2: half-step feed-forward, attention, convolution, half-step
// feed-forward, norm. Without the convolution and the first feed-forward module it is a Transformer
// layer. With a stride in the convolution, the frames after it have a lower rate (Burchi and
// Vielzeuf 2021). That of icefall's reworked Conformer has no norms in between, and whole
// feed-forward steps.
class ConformerLayer final : public EncoderLayer {
 public:
  // `index` counts layers from 0. norm_first: x + f(norm(x)); otherwise norm(x + f(x)).
  ConformerLayer(const EncoderBackend& backend, const ConformerLayerWeights& weights, int index,
                 bool norm_first);

  void Forward(LayerFrames* frames) const override;
  LayerState InitialState() const override;

 private:
  // A module, and the norm after it where norms come last.
  struct Step {
    std::unique_ptr<const ResidualModule> module;
    std::unique_ptr<const NormModule> norm_after;
  };

  static void Add(const Step& step, LayerFrames* frames);
  // Adds the convolution. With a stride, to the means of the frames that each output stands for.
  void Convolve(LayerFrames* frames) const;

  int64_t model_dim_;
  DataType data_type_;
  std::optional<Step> feed_forward_macaron_;
  Step attention_;
  std::optional<Step> convolution_;
  int64_t stride_ = 1;  // of the convolution
  Step feed_forward_;
  std::unique_ptr<const NormModule> norm_final_;  // null in a Transformer
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_CONFORMER_LAYER_H_
