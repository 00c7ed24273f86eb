#include "encoder/conformer_layer.h"

#include <ATen/TensorOperators.h>

#include <utility>

namespace runnel {

ConformerLayer::ConformerLayer(Weights* weights, const std::string& name,
                               const EncoderConfig& config,
                               std::shared_ptr<const PositionScheme> position)
    : norm_ff_macaron_(weights, name + ".norm_ff_macaron", config.model_dim, config.layer_norm_eps),
      feed_forward_macaron_(weights, name + ".feed_forward_macaron", config.model_dim,
                            config.feed_forward_dim),
      norm_mha_(weights, name + ".norm_mha", config.model_dim, config.layer_norm_eps),
      self_attn_(weights, name + ".self_attn", config, std::move(position)),
      norm_conv_(weights, name + ".norm_conv", config.model_dim, config.layer_norm_eps),
      conv_module_(weights, name + ".conv_module", config),
      norm_ff_(weights, name + ".norm_ff", config.model_dim, config.layer_norm_eps),
      feed_forward_(weights, name + ".feed_forward", config.model_dim, config.feed_forward_dim),
      norm_final_(weights, name + ".norm_final", config.model_dim, config.layer_norm_eps) {}

LayerState ConformerLayer::InitialState() const {
  return {self_attn_.InitialCache(), self_attn_.InitialCache(), conv_module_.InitialCache(),
          self_attn_.InitialCache()};
}

at::Tensor ConformerLayer::Forward(at::Tensor x, const LayerBatch& batch) const {
  x = x + 0.5 * feed_forward_macaron_.Forward(norm_ff_macaron_.Forward(x));
  x = x + self_attn_.Forward(norm_mha_.Forward(x), batch);
  x = x + conv_module_.Forward(norm_conv_.Forward(x), batch);
  x = x + 0.5 * feed_forward_.Forward(norm_ff_.Forward(x));
  return norm_final_.Forward(x);
}

}  // namespace runnel
