// What the schemes that score (q + u) k + (q + v) p have in common: u, v, W_pos and the scaling.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools. Dai et al. 2019, section 3.3.
#ifndef RUNNEL_ENCODER_POSITION_RELATIVE_QUERY_H_
#define RUNNEL_ENCODER_POSITION_RELATIVE_QUERY_H_

#include <ATen/core/Tensor.h>

#include <string>

#include "encoder/dense.h"
#include "encoder/position/position_config.h"
#include "encoder/position/position_scheme.h"
#include "encoder/weights.h"

namespace runnel {

class JsonSection;

// Fields of the model file.
struct RelativeQueryFields {
  bool linear_pos_bias = false;
  // true: ((q+u) k + (q+v) p) / sqrt(d_k); false: with q / sqrt(d_k) in place of q (icefall).
  bool scale_after_bias = true;
};

// Takes `linear_pos_bias` and `query_scaling`.
RelativeQueryFields ParseRelativeQueryFields(JsonSection* section);

// W_pos: <attention_name>.linear_pos.
Linear TakeLinearPos(Weights* weights, const std::string& attention_name,
                     const AttentionSizes& sizes, const RelativeQueryFields& fields);

class RelativeQuery {
 public:
  // Takes <attention_name>.pos_bias_{u,v} (H, d_k).
  RelativeQuery(Weights* weights, const std::string& attention_name, const AttentionSizes& sizes,
                const RelativeQueryFields& fields);

  // (H, rows, d_k) -> the same: what is multiplied with keys, and what with positions.
  at::Tensor ForContent(const at::Tensor& q) const;
  at::Tensor ForPosition(const at::Tensor& q) const;

  // u, v and the scaling, without rows.
  ScoreTerms terms() const;

  // What becomes of the sum of both products; may be computed in place.
  at::Tensor Scaled(const at::Tensor& scores) const;

 private:
  at::Tensor Biased(const at::Tensor& q, const at::Tensor& bias) const;

  at::Tensor pos_bias_u_;  // (H, 1, d_k)
  at::Tensor pos_bias_v_;
  double scale_;  // 1 / sqrt(d_k)
  bool scale_after_bias_;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_RELATIVE_QUERY_H_
