// The projected sinusoids of relative attention, W_pos PE(p), for any positions.
#ifndef RUNNEL_ENCODER_POSITION_LINEAR_POS_H_
#define RUNNEL_ENCODER_POSITION_LINEAR_POS_H_

#include <cstdint>
#include <string>

#include "encoder/encoder_config.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/weights.h"
#include "encoder/position/sinusoids.h"
#include "encoder/rows.h"

namespace runnel {

// Const after construction: Rows may be called from several threads.
class LinearPos {
 public:
  // Takes <attention_name>.linear_pos.weight (d, d) and, with a bias, .bias (d).
  LinearPos(Weights* weights, const std::string& attention_name, const AttentionSizes& sizes,
            bool bias);

  // (n, d) in the type of the weights: positions first, ..., last, counting up or down. A row does
  // not depend on which others are asked for.
  Matrix Rows(int64_t first, int64_t last) const;

  DataType data_type() const { return weight_.type(); }
  int64_t dim() const { return weight_.size(0); }  // d
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // undefined: none

 private:
  Tensor weight_;
  Tensor bias_;  // undefined: none
  Sinusoids sinusoids_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_LINEAR_POS_H_
