#include "encoder/libtorch/dense.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/gelu.h>
#include <ATen/ops/layer_norm.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/mean.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/rsqrt.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>
#include <c10/util/Exception.h>

#include "encoder/libtorch/operation_guard.h"
#include "encoder/libtorch/tensor_rows.h"

namespace runnel::libtorch {

at::Tensor Activate(Activation activation, const at::Tensor& x) {
  switch (activation) {
    case Activation::kSwish:
      return at::silu(x);
    case Activation::kRelu:
      return at::relu(x);
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kTanh:
      return at::tanh(x);
    case Activation::kSigmoid:
      return at::sigmoid(x);
    case Activation::kDoubleSwish:
      return x * at::sigmoid(x - 1);
    case Activation::kIdentity:
      return x;
  }
  TORCH_INTERNAL_ASSERT(false, "an activation without a function");
}

at::Tensor Linear(const LinearWeights& weights, const at::Tensor& x) {
  return weights.bias.defined() ? at::linear(x, View(weights.weight), View(weights.bias))
                                : at::linear(x, View(weights.weight));
}

at::Tensor LayerNorm(const LayerNormWeights& weights, const at::Tensor& x) {
  return at::layer_norm(x, weights.weight.shape(), View(weights.weight), View(weights.bias),
                        weights.epsilon);
}

at::Tensor BasicNorm(const BasicNormWeights& weights, const at::Tensor& x) {
  return x * at::rsqrt(at::mean(x * x, -1, true) + weights.epsilon);
}

void TensorModule::Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const {
  const OperationGuard guard;
  const at::Tensor rows = View(x);
  View(y).add_(Forward(norm_ ? LayerNorm(*norm_, rows) : rows, segments));
}

at::Tensor FeedForward::Forward(const at::Tensor& x,
                                const std::vector<Segment>& /*segments*/) const {
  const at::Tensor y = Linear(weights_.w_2, Activate(weights_.activation, Linear(weights_.w_1, x)));
  return weights_.residual_scale == 1.0 ? y : weights_.residual_scale * y;
}

}  // namespace runnel::libtorch
