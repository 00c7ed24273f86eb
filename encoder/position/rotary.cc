// Queries and keys are rotated by angles of their frames (Su et al. 2021):
//
//   score(i, j) = R(i) q_i . R(j) k_j / sqrt(d_k)
//
// R(t) turns the pair of elements m and m + d_k/2 of a head by t 10000^(-2m / d_k), so that a score
// depends on i - j. Caches hold rotated keys: the 64-bit frame number continues from chunk to
// chunk.
#include "encoder/position/schemes.h"

namespace runnel {

PositionModules BuildScheme(const RotaryPosition& /*config*/, const SchemeSource& source) {
  PositionScheme scheme = ContentOnly(source.sizes);
  scheme.rotation.emplace(source.sizes.head_dim());
  PositionModules modules;
  modules.layers.resize(source.names.size(), scheme);
  return modules;
}

}  // namespace runnel
