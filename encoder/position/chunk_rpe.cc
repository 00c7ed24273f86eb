// Relative positions with the shift (RelShift in libtorch/rel_shift.h), for whole utterances (Dai
// et al. 2019, section 3.3 and appendix B) and for chunks with cached left context ("ChunkRPE"),
// and their variant with a bounded radius:
//
//   score(i, j) = ((q_i + u) k_j + (q_i + v) W_pos PE(distance(i, j))) / sqrt(d_k)
#include <memory>

#include "encoder/position/relative_query.h"
#include "encoder/position/schemes.h"

namespace runnel {

PositionModules BuildScheme(const ChunkRpe& config, Weights* weights, const AttentionNames& names,
                            const AttentionSizes& sizes) {
  PositionModules modules;
  for (const std::string& name : names) {
    PositionScheme scheme = TakeRelativeQuery(weights, name, sizes, config.query);
    scheme.rows = std::make_shared<const PositionTable>(
        LinearPos(weights, name, sizes, config.query.linear_pos_bias), config.order,
        config.max_distance);
    modules.layers.push_back(std::move(scheme));
  }
  return modules;
}

}  // namespace runnel
