// The row-wise operations of the encoder: each row of the (total_rows, dim) matrix on its own, so
// they run once over all segments of a batch.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_DENSE_H_
#define RUNNEL_ENCODER_DENSE_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "encoder/encoder_config.h"
#include "encoder/weights.h"

namespace runnel {

// y = x W^T + b.
class Linear {
 public:
  enum class Bias { kNo, kYes };
  static Bias BiasIf(bool present) { return present ? Bias::kYes : Bias::kNo; }

  // Takes <name>.weight (output_dim, input_dim) and, with a bias, <name>.bias (output_dim).
  Linear(Weights* weights, const std::string& name, int64_t input_dim, int64_t output_dim,
         Bias bias = Bias::kYes);

  // A convolution with a kernel of one tap, whose weight is (output_dim, input_dim, 1).
  static Linear Pointwise(Weights* weights, const std::string& name, int64_t input_dim,
                          int64_t output_dim, Bias bias);

  // (rows, input_dim) -> (rows, output_dim)
  at::Tensor Forward(const at::Tensor& x) const;

  // Type and device of its weights.
  at::TensorOptions options() const { return weight_.options(); }

 private:
  Linear(at::Tensor weight, at::Tensor bias);

  at::Tensor weight_;  // (output_dim, input_dim)
  at::Tensor bias_;    // (output_dim) or undefined
};

class LayerNorm {
 public:
  // Takes <name>.weight and <name>.bias, both (dim).
  LayerNorm(Weights* weights, const std::string& name, int64_t dim, double eps);

  // (rows, dim) -> (rows, dim)
  at::Tensor Forward(const at::Tensor& x) const;

  at::ScalarType dtype() const { return weight_.scalar_type(); }

 private:
  at::Tensor weight_;
  at::Tensor bias_;
  double eps_;
};

// Linear, activation, linear (Gulati et al. 2020, section 2.3), times the 1/2 of a macaron layer.
class FeedForward {
 public:
  // Takes <name>.w_1 and <name>.w_2.
  FeedForward(Weights* weights, const std::string& name, int64_t dim,
              const FeedForwardConfig& config);

  // (rows, dim) -> (rows, dim)
  at::Tensor Forward(const at::Tensor& x) const;

 private:
  Linear w_1_;
  Activation activation_;
  Linear w_2_;
  double scale_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_DENSE_H_
