// Learned vectors per clamped distance, added to keys and values (Shaw et al. 2018):
//
//   score(i, j) = q_i (k_j + a^K_ij) / sqrt(d_k)      context_i = sum_j weight_ij (v_j + a^V_ij)
#include "encoder/position/schemes.h"

namespace runnel {
namespace {

// Takes <name>.relative_keys (2 max_distance + 1, d_k), and <name>.relative_values if the model has
// them. Row 0 belongs to keys max_distance or more frames before the query.
PositionScheme Take(Weights* weights, const std::string& name, const AttentionSizes& sizes,
                    const RelativeKeyValue& config) {
  LearnedRows rows{{config.max_distance, -config.max_distance}, {}, {}};
  rows.keys = weights->Take(name + ".relative_keys", {rows.distances.size(), sizes.head_dim()});
  if (config.values) {
    rows.values =
        weights->Take(name + ".relative_values", {rows.distances.size(), sizes.head_dim()});
  }
  PositionScheme scheme = ContentOnly(sizes);
  scheme.rows = std::move(rows);
  return scheme;
}

}  // namespace

PositionModules BuildScheme(const RelativeKeyValue& config, const SchemeSource& source) {
  PositionModules modules;
  if (config.shared) {
    modules.layers.resize(source.names.size(),
                          Take(source.weights, "encoder", source.sizes, config));
  } else {
    for (const std::string& name : source.names) {
      modules.layers.push_back(Take(source.weights, name, source.sizes, config));
    }
  }
  return modules;
}

}  // namespace runnel
