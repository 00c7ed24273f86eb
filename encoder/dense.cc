#include "encoder/dense.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>

#include <utility>

#include "encoder/activation.h"

namespace runnel {

Linear::Linear(Weights* weights, const std::string& name, int64_t input_dim, int64_t output_dim,
               Bias bias)
    : weight_(weights->Take(name + ".weight", {output_dim, input_dim})) {
  if (bias == Bias::kYes) bias_ = weights->Take(name + ".bias", {output_dim});
}

Linear::Linear(at::Tensor weight, at::Tensor bias)
    : weight_(std::move(weight)), bias_(std::move(bias)) {}

Linear Linear::Pointwise(Weights* weights, const std::string& name, int64_t input_dim,
                         int64_t output_dim, Bias bias) {
  return Linear(weights->Take(name + ".weight", {output_dim, input_dim, 1}).squeeze(2),
                bias == Bias::kYes ? weights->Take(name + ".bias", {output_dim}) : at::Tensor());
}

at::Tensor Linear::Forward(const at::Tensor& x) const {
  return bias_.defined() ? at::linear(x, weight_, bias_) : at::linear(x, weight_);
}

LayerNorm::LayerNorm(Weights* weights, const std::string& name, int64_t dim, double eps)
    : weight_(weights->Take(name + ".weight", {dim})),
      bias_(weights->Take(name + ".bias", {dim})),
      eps_(eps) {}

at::Tensor LayerNorm::Forward(const at::Tensor& x) const {
  return at::layer_norm(x, weight_.sizes(), weight_, bias_, eps_);
}

FeedForward::FeedForward(Weights* weights, const std::string& name, int64_t dim,
                         const FeedForwardConfig& config)
    : w_1_(weights, name + ".w_1", dim, config.hidden_dim, Linear::BiasIf(config.bias)),
      activation_(config.activation),
      w_2_(weights, name + ".w_2", config.hidden_dim, dim, Linear::BiasIf(config.bias)),
      scale_(config.residual_scale()) {}

at::Tensor FeedForward::Forward(const at::Tensor& x) const {
  const at::Tensor y = w_2_.Forward(Activate(activation_, w_1_.Forward(x)));
  return scale_ == 1.0 ? y : scale_ * y;
}

}  // namespace runnel
