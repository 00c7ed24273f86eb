// The projected sinusoids of relative attention, W_pos PE(p), for any positions.
#ifndef RUNNEL_ENCODER_POSITION_LINEAR_POS_H_
#define RUNNEL_ENCODER_POSITION_LINEAR_POS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>

#include "encoder/encoder_config.h"
#include "encoder/model_file/weights.h"
#include "encoder/position/sinusoids.h"

namespace runnel {

// Const after construction: Rows may be called from several threads.
class LinearPos {
 public:
  // Takes <attention_name>.linear_pos.weight (d, d) and, with a bias, .bias (d).
  LinearPos(Weights* weights, const std::string& attention_name, const AttentionSizes& sizes,
            bool bias);

  // (n, d) in the type of the weights: positions first, ..., last, counting up or down. The
  // rounding of a row may depend on n.
  at::Tensor Rows(int64_t first, int64_t last) const;

  const at::Tensor& weight() const { return weight_; }
  const at::Tensor& bias() const { return bias_; }  // undefined: none

 private:
  at::Tensor weight_;
  at::Tensor bias_;  // undefined: none
  Sinusoids sinusoids_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_LINEAR_POS_H_
