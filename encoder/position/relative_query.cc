#include "encoder/position/relative_query.h"

#include <utility>

namespace runnel {

PositionScheme TakeRelativeQuery(Weights* weights, const std::string& attention_name,
                                 const AttentionSizes& sizes, const RelativeQueryConfig& config) {
  PositionScheme scheme = ContentOnly(sizes);
  scheme.content_bias =
      weights->Take(attention_name + ".pos_bias_u", {sizes.num_heads, sizes.head_dim()});
  scheme.position_bias =
      weights->Take(attention_name + ".pos_bias_v", {sizes.num_heads, sizes.head_dim()});
  if (!config.scale_after_bias) std::swap(scheme.query_scale, scheme.score_scale);
  return scheme;
}

}  // namespace runnel
