#include "encoder/position/relative_query.h"

#include <ATen/TensorOperators.h>

#include <cmath>

#include "encoder/json_section.h"

namespace runnel {

RelativeQueryFields ParseRelativeQueryFields(JsonSection* section) {
  RelativeQueryFields fields;
  fields.linear_pos_bias = section->Bool("linear_pos_bias");
  const std::string scaling = section->String("query_scaling");
  if (scaling != "after_bias" && scaling != "before_bias") {
    section->Fail("query_scaling", "\"after_bias\" or \"before_bias\"");
  }
  fields.scale_after_bias = scaling == "after_bias";
  return fields;
}

Linear TakeLinearPos(Weights* weights, const std::string& attention_name,
                     const AttentionSizes& sizes, const RelativeQueryFields& fields) {
  return Linear(weights, attention_name + ".linear_pos", sizes.model_dim, sizes.model_dim,
                fields.linear_pos_bias ? Linear::Bias::kYes : Linear::Bias::kNo);
}

RelativeQuery::RelativeQuery(Weights* weights, const std::string& attention_name,
                             const AttentionSizes& sizes, const RelativeQueryFields& fields)
    : pos_bias_u_(weights->Take(attention_name + ".pos_bias_u", {sizes.num_heads, sizes.head_dim()})
                      .unsqueeze(1)),
      pos_bias_v_(weights->Take(attention_name + ".pos_bias_v", {sizes.num_heads, sizes.head_dim()})
                      .unsqueeze(1)),
      scale_(1.0 / std::sqrt(static_cast<double>(sizes.head_dim()))),
      scale_after_bias_(fields.scale_after_bias) {}

at::Tensor RelativeQuery::ForContent(const at::Tensor& q) const { return Biased(q, pos_bias_u_); }

at::Tensor RelativeQuery::ForPosition(const at::Tensor& q) const { return Biased(q, pos_bias_v_); }

ScoreTerms RelativeQuery::terms() const {
  ScoreTerms terms;
  terms.content_bias = pos_bias_u_.squeeze(1);
  terms.position_bias = pos_bias_v_.squeeze(1);
  (scale_after_bias_ ? terms.score_scale : terms.query_scale) = scale_;
  return terms;
}

at::Tensor RelativeQuery::Biased(const at::Tensor& q, const at::Tensor& bias) const {
  return scale_after_bias_ ? q + bias : q * scale_ + bias;
}

at::Tensor RelativeQuery::Scaled(const at::Tensor& scores) const {
  return scale_after_bias_ ? scores.mul_(scale_) : scores;
}

}  // namespace runnel
