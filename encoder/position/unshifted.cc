// Each key is scored by its absolute frame, without a shift ("rel_pos" of WeNet since v0.1):
//
//   score(i, j) = ((q_i + u) k_j + (q_i + v) W_pos PE(frame of key j)) / sqrt(d_k)
//
// WeNet's table ends at frame 5000; here the 64-bit frame number has no limit.
#include "encoder/position/relative_query.h"
#include "encoder/position/schemes.h"

namespace runnel {
PositionModules BuildScheme(const UnshiftedPosition& config, const SchemeSource& source) {
  PositionModules modules;
  for (const std::string& name : source.names) {
    PositionScheme scheme = TakeRelativeQuery(source.weights, name, source.sizes, config.query);
    scheme.rows =
        RowsByKeyFrame{LinearPos(source.weights, name, source.sizes, config.query.linear_pos_bias)};
    modules.layers.push_back(std::move(scheme));
  }
  return modules;
}

}  // namespace runnel
