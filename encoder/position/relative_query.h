// The terms that all schemes with scores (q + u) k + (q + v) p share (Dai et al. 2019,
// section 3.3).
#ifndef RUNNEL_ENCODER_POSITION_RELATIVE_QUERY_H_
#define RUNNEL_ENCODER_POSITION_RELATIVE_QUERY_H_

#include <string>

#include "encoder/position/position_scheme.h"

namespace runnel {

// Takes <attention_name>.pos_bias_u and .pos_bias_v, both (H, d_k). The result has no rows yet.
PositionScheme TakeRelativeQuery(Weights* weights, const std::string& attention_name,
                                 const AttentionSizes& sizes, const RelativeQueryConfig& config);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_RELATIVE_QUERY_H_
