// `unshifted` with grouped attention (Burchi and Vielzeuf 2021, WeNet's Efficient Conformer): the
// queries, keys, values and projected positions of G consecutive frames are one row each of G d
// values, which is split into heads of G d_k. Rows beyond the last frame of a stream are zeros.
#include <cstddef>
#include <utility>

#include "encoder/position/relative_query.h"
#include "encoder/position/schemes.h"

namespace runnel {

PositionModules BuildScheme(const GroupedUnshifted& config, const SchemeSource& source) {
  PositionModules modules;
  for (size_t i = 0; i < source.names.size(); ++i) {
    const int64_t group_size = config.group_sizes[i];
    PositionScheme scheme = TakeRelativeQuery(
        source.weights, source.names[i],
        {group_size * source.sizes.model_dim, source.sizes.num_heads}, config.query);
    scheme.group_size = group_size;
    scheme.rows = RowsByKeyFrame{
        LinearPos(source.weights, source.names[i], source.sizes, config.query.linear_pos_bias)};
    modules.layers.push_back(std::move(scheme));
  }
  return modules;
}

}  // namespace runnel
