// ESPnet's `legacy_rel_pos`: a table of T reversed rows and a shift (LegacyShift in
// libtorch/rel_shift.h) that is right for keys up to the query only. The key after the query reads
// zero, and later keys read a row meant for the next query. Models were trained with it, so it is
// kept as it is. It needs the whole utterance.
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "encoder/position/relative_query.h"
#include "encoder/position/schemes.h"

namespace runnel {

int64_t LegacyRows::FirstDistance(int64_t num_frames) const {
  return std::max(table_length, num_frames) - 1;
}

std::shared_ptr<const PositionTable::Range> LegacyRows::Covering(int64_t num_frames) const {
  // A power of two: the table remembers every range, so there should be few of them.
  int64_t num_distances = 1;
  while (num_distances < num_frames) num_distances *= 2;
  const int64_t first = FirstDistance(num_frames);
  return table->Covering({first, first - num_distances + 1});
}

PositionModules BuildScheme(const LegacyRelPos& config, const SchemeSource& source) {
  PositionModules modules;
  std::vector<LinearPos> projections;
  for (const std::string& name : source.names) {
    modules.layers.push_back(TakeRelativeQuery(source.weights, name, source.sizes, config.query));
    projections.emplace_back(source.weights, name, source.sizes, config.query.linear_pos_bias,
                             source.pack);
  }
  const auto table = std::make_shared<const PositionTable>(
      std::move(projections), TableOrder::kDescending, std::numeric_limits<int64_t>::max());
  for (size_t i = 0; i < source.names.size(); ++i) {
    modules.layers[i].rows = LegacyRows{table, i, config.table_length};
  }
  return modules;
}

}  // namespace runnel
