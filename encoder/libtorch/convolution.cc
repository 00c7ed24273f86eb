#include "encoder/libtorch/convolution.h"

#include <ATen/ops/glu.h>
#include <ATen/ops/zeros.h>

#include "encoder/libtorch/dense.h"
#include "encoder/libtorch/tensor_rows.h"

namespace runnel::libtorch {

Convolution::Convolution(const ConvolutionWeights& weights, const LayerNormWeights* norm,
                         const ConvolutionConfig& config)
    : TensorModule(norm),
      weights_(weights),
      config_(config),
      depthwise_(weights.depthwise, config.type, weights.stride) {
  const at::Tensor bias = View(weights.depthwise.bias);
  const at::Tensor silence = at::zeros({1, bias.size(0)}, bias.options());
  initial_frame_ =
      config.gated_padding ? at::glu(Linear(weights.pointwise_1, silence), 1) : silence;
}

void Convolution::Initialize(LayerState* state) const {
  depthwise_.FillCache(initial_frame_, &state->cnn_cache);
}

at::Tensor Convolution::Forward(const at::Tensor& x, const std::vector<Segment>& segments) const {
  const at::Tensor gated = at::glu(Linear(weights_.pointwise_1, x), 1);
  at::Tensor filtered = depthwise_.Forward(
      segments, gated, [](const Segment& segment) { return &segment.state->cnn_cache; });
  if (weights_.norm) filtered = LayerNorm(*weights_.norm, filtered);
  return Linear(weights_.pointwise_2, Activate(config_.activation, filtered));
}

}  // namespace runnel::libtorch
