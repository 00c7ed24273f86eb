// Relative positions with the shift (RelShift in libtorch/rel_shift.h), for whole utterances (Dai
// et al. 2019, section 3.3 and appendix B) and for chunks with cached left context ("ChunkRPE"),
// and their variants with a bounded radius and, for whole utterances, with a window of keys:
//
//   score(i, j) = ((q_i + u) k_j + (q_i + v) W_pos PE(distance(i, j))) / sqrt(d_k)
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "encoder/position/relative_query.h"
#include "encoder/position/schemes.h"

namespace runnel {

PositionModules BuildScheme(const ChunkRpe& config, const SchemeSource& source) {
  PositionModules modules;
  std::vector<LinearPos> projections;
  for (const std::string& name : source.names) {
    modules.layers.push_back(TakeRelativeQuery(source.weights, name, source.sizes, config.query));
    projections.emplace_back(source.weights, name, source.sizes, config.query.linear_pos_bias,
                             source.pack);
  }
  const auto table = std::make_shared<const PositionTable>(std::move(projections), config.order,
                                                           config.max_distance);
  for (size_t i = 0; i < source.names.size(); ++i) {
    modules.layers[i].rows = RowsByDistance{table, i};
    modules.layers[i].window = config.window;
  }
  return modules;
}

}  // namespace runnel
