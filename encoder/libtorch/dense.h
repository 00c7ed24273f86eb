// The row-wise operations of the encoder in LibTorch. Each row is computed on its own, so these
// operations run once over the rows of all segments.
#ifndef RUNNEL_ENCODER_LIBTORCH_DENSE_H_
#define RUNNEL_ENCODER_LIBTORCH_DENSE_H_

#include <ATen/core/Tensor.h>

#include "encoder/activation.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/libtorch/tensor_module.h"

namespace runnel::libtorch {

// Element by element.
at::Tensor Activate(Activation activation, const at::Tensor& x);

// (rows, input_dim) -> (rows, output_dim)
at::Tensor Linear(const LinearWeights& weights, const at::Tensor& x);

// (rows, dim) -> (rows, dim)
at::Tensor LayerNorm(const LayerNormWeights& weights, const at::Tensor& x);

// (rows, dim) -> (rows, dim)
at::Tensor BasicNorm(const BasicNormWeights& weights, const at::Tensor& x);

// Linear, activation, linear (Gulati et al. 2020, section 2.4), times the 1/2 of a macaron layer.
class FeedForward final : public TensorModule {
 public:
  FeedForward(const FeedForwardWeights& weights, const LayerNormWeights* norm)
      : TensorModule(norm), weights_(weights) {}

  at::Tensor Forward(const at::Tensor& x, const std::vector<Segment>& segments) const override;

 private:
  FeedForwardWeights weights_;
};

}  // namespace runnel::libtorch

#endif  // RUNNEL_ENCODER_LIBTORCH_DENSE_H_
