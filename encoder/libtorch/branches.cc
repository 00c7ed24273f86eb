#include "encoder/libtorch/branches.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "encoder/libtorch/dense.h"
#include "encoder/libtorch/operation_guard.h"
#include "encoder/libtorch/tensor_rows.h"

namespace runnel::libtorch {

void Cgmlp::Initialize(LayerState* state) const {
  // A causal convolution reads zeros before the norm.
  const at::Tensor bias = View(weights_.norm.bias).unsqueeze(0);
  state->cnn_cache = RowRing(config_.gate_dim(), state->cnn_cache.type());
  depthwise_.FillCache(config_.type == ConvolutionType::kCausal ? bias : at::zeros_like(bias),
                       &state->cnn_cache);
}

at::Tensor Cgmlp::Forward(const at::Tensor& x, const std::vector<Segment>& segments) const {
  const at::Tensor hidden = Activate(Activation::kGelu, Linear(weights_.projection_1, x));
  const at::Tensor values = hidden.narrow(1, 0, config_.gate_dim());
  at::Tensor gates =
      LayerNorm(weights_.norm, hidden.narrow(1, config_.gate_dim(), config_.gate_dim()));
  gates = depthwise_.Forward(segments, gates,
                             [](const Segment& segment) { return &segment.state->cnn_cache; });
  if (weights_.linear) gates = Linear(*weights_.linear, gates);
  return Linear(weights_.projection_2, values * Activate(config_.gate_activation, gates));
}

BranchMerge::BranchMerge(const BranchMergeWeights& weights, const BranchesConfig& config)
    : weights_(weights) {
  if (weights.depthwise) depthwise_.emplace(*weights.depthwise, config.type);
}

void BranchMerge::Initialize(LayerState* state) const {
  if (!depthwise_) return;
  const at::Tensor bias = View(weights_.depthwise->bias);
  state->merge_cache.emplace(bias.size(0), DataTypeOf(bias.scalar_type()));
  depthwise_->FillCache(at::zeros({1, bias.size(0)}, bias.options()), &*state->merge_cache);
}

void BranchMerge::Add(const std::vector<Segment>& segments, ConstRows attended, ConstRows gated,
                      Rows x) const {
  const OperationGuard guard;
  at::Tensor both = at::cat({View(attended), View(gated)}, 1);
  if (depthwise_) {
    both = depthwise_->Forward(segments, both,
                               [](const Segment& segment) { return &*segment.state->merge_cache; });
  }
  View(x).add_(Linear(weights_.projection, both));
}

}  // namespace runnel::libtorch
