// ESPnet's `legacy_rel_pos`: a table of T reversed rows and a shift (LegacyShift in rel_shift.h)
// that is right for keys up to the query only. The key after the query reads zero, and later keys
// read a row meant for the next query. Models were trained with it, so it is kept as it is. It
// needs the whole utterance.
#include <algorithm>

#include "encoder/position/relative_query.h"
#include "encoder/position/schemes.h"

namespace runnel {

at::Tensor LegacyRows::Rows(int64_t num_frames) const {
  const int64_t first = std::max(table_length, num_frames) - 1;
  return linear_pos.Rows(first, first - num_frames + 1);
}

PositionModules BuildScheme(const LegacyRelPos& config, Weights* weights,
                            const AttentionNames& names, const AttentionSizes& sizes) {
  PositionModules modules;
  for (const std::string& name : names) {
    PositionScheme scheme = TakeRelativeQuery(weights, name, sizes, config.query);
    scheme.rows = LegacyRows{LinearPos(weights, name, sizes, config.query.linear_pos_bias),
                             config.table_length};
    modules.layers.push_back(std::move(scheme));
  }
  return modules;
}

}  // namespace runnel
