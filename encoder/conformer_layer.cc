#include "encoder/conformer_layer.h"

#include <ATen/TensorOperators.h>

#include <utility>

namespace runnel {

ConformerLayer::ConformerLayer(Weights* weights, const std::string& name,
                               const EncoderConfig& config,
                               std::shared_ptr<const PositionScheme> position)
    : norm_first_(config.norm_first),
      feed_forward_scale_(config.feed_forward.macaron ? 0.5 : 1.0),
      norm_mha_(weights, name + ".norm_mha", config.model_dim, config.layer_norm_eps),
      self_attn_(weights, name + ".self_attn", config, std::move(position)),
      norm_ff_(weights, name + ".norm_ff", config.model_dim, config.layer_norm_eps),
      feed_forward_(weights, name + ".feed_forward", config.model_dim, config.feed_forward) {
  const auto norm = [&](const char* field) {
    return LayerNorm(weights, name + field, config.model_dim, config.layer_norm_eps);
  };
  if (config.feed_forward.macaron) {
    feed_forward_macaron_ = Normed<FeedForward>{norm(".norm_ff_macaron"),
                                                FeedForward(weights, name + ".feed_forward_macaron",
                                                            config.model_dim, config.feed_forward)};
  }
  if (config.convolution) {
    conv_module_ = Normed<Convolution>{
        norm(".norm_conv"),
        Convolution(weights, name + ".conv_module", config.model_dim, *config.convolution)};
    norm_final_ = norm(".norm_final");
  }
}

LayerState ConformerLayer::InitialState() const {
  const FrameBuffer keys = self_attn_.InitialCache();
  return {keys, keys, conv_module_ ? conv_module_->module.InitialCache() : keys, keys};
}

template <typename Branch>
at::Tensor ConformerLayer::AddBranch(const at::Tensor& x, const LayerNorm& norm, double scale,
                                     const Branch& branch) const {
  const at::Tensor change = branch(norm_first_ ? norm.Forward(x) : x);
  const at::Tensor sum = x + (scale == 1.0 ? change : scale * change);
  return norm_first_ ? sum : norm.Forward(sum);
}

at::Tensor ConformerLayer::Forward(at::Tensor x, const LayerBatch& batch) const {
  if (const auto& macaron = feed_forward_macaron_) {
    x = AddBranch(x, macaron->norm, feed_forward_scale_,
                  [&](const at::Tensor& y) { return macaron->module.Forward(y); });
  }
  x = AddBranch(x, norm_mha_, 1.0,
                [&](const at::Tensor& y) { return self_attn_.Forward(y, batch); });
  if (const auto& convolution = conv_module_) {
    x = AddBranch(x, convolution->norm, 1.0,
                  [&](const at::Tensor& y) { return convolution->module.Forward(y, batch); });
  }
  x = AddBranch(x, norm_ff_, feed_forward_scale_,
                [&](const at::Tensor& y) { return feed_forward_.Forward(y); });
  return norm_final_ ? norm_final_->Forward(x) : x;
}

}  // namespace runnel
