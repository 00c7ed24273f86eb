// The projected sinusoids of relative attention, W_pos PE(p), for any positions.
#ifndef RUNNEL_ENCODER_POSITION_LINEAR_POS_H_
#define RUNNEL_ENCODER_POSITION_LINEAR_POS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/model_file/tensor.h"
#include "encoder/model_file/weights.h"
#include "encoder/rows.h"

namespace runnel {

// Packs the weight of a projection.
using PositionPacker = std::function<kernels::PackedLinear(const LinearWeights& weights)>;

// The projection of one layer. Immutable.
class LinearPos {
 public:
  // Takes <attention_name>.linear_pos.weight (d, d) and, with a bias, .bias (d). `pack`: null, or
  // packs the weight, which saves the memory of float32.
  LinearPos(Weights* weights, const std::string& attention_name, const AttentionSizes& sizes,
            bool bias, const PositionPacker& pack = nullptr);

  DataType data_type() const { return weight_.type(); }
  int64_t dim() const { return weight_.size(0); }  // d
  // Has no values where it is packed.
  const Tensor& weight() const { return weight_; }
  const Tensor& bias() const { return bias_; }  // undefined: none
  // Where it is packed, the values that were rounded, (d, d); otherwise empty.
  std::vector<float> UnpackedWeight() const;

 private:
  Tensor weight_;
  Tensor bias_;                                          // undefined: none
  std::shared_ptr<const kernels::PackedLinear> packed_;  // null: not packed
};

// Writes one column per position first, ..., last, counting up or down. `columns`: of each layer,
// (d, at least begin + n) in the type of the weights; column `begin` is that of the first position.
// A column does not depend on which others are asked for. PE(p) is computed once for all layers.
void ProjectPositions(const std::vector<LinearPos>& layers, int64_t first, int64_t last,
                      int64_t begin, const std::vector<Rows>& columns);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_LINEAR_POS_H_
