#include "encoder/position/linear_pos.h"

#include <ATen/ops/linear.h>

namespace runnel {

LinearPos::LinearPos(Weights* weights, const std::string& attention_name,
                     const AttentionSizes& sizes, bool bias)
    : weight_(
          weights->Take(attention_name + ".linear_pos.weight", {sizes.model_dim, sizes.model_dim})),
      sinusoids_(sizes.model_dim) {
  if (bias) bias_ = weights->Take(attention_name + ".linear_pos.bias", {sizes.model_dim});
}

at::Tensor LinearPos::Rows(int64_t first, int64_t last) const {
  const at::Tensor sinusoids = sinusoids_.Rows(first, last).to(weight_.options());
  return bias_.defined() ? at::linear(sinusoids, weight_, bias_) : at::linear(sinusoids, weight_);
}

}  // namespace runnel
