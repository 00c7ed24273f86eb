#include "encoder/position/position_scheme.h"

#include <cmath>

#include "encoder/position/schemes.h"

namespace runnel {

PositionScheme ContentOnly(const AttentionSizes& sizes) {
  PositionScheme scheme;
  scheme.score_scale = 1.0 / std::sqrt(static_cast<double>(sizes.head_dim()));
  return scheme;
}

PositionModules BuildPositions(const PositionConfig& config, Weights* weights,
                               const std::vector<std::string>& attention_names,
                               const AttentionSizes& sizes, const PositionPacker& pack) {
  const SchemeSource source{weights, attention_names, sizes, pack};
  return std::visit([&](const auto& scheme) { return BuildScheme(scheme, source); }, config);
}

}  // namespace runnel
