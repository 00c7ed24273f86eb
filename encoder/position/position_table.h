// The rows of relative positions, W_pos PE(r) for every distance r, computed once per model.
#ifndef RUNNEL_ENCODER_POSITION_POSITION_TABLE_H_
#define RUNNEL_ENCODER_POSITION_POSITION_TABLE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "encoder/position/distances.h"
#include "encoder/position/linear_pos.h"
#include "encoder/position_config.h"
#include "encoder/rows.h"

namespace runnel {

// Distances are query frame minus key frame (Dai et al. 2019, section 3.3). The table of a chunk of
// C frames with M frames of left context is a slice of this one, and all streams share its rows.
//
// A row has the same bits whatever was asked for before.
//
// Covering may be called from several threads at once, and takes no lock for distances that the
// table remembers.
class PositionTable {
 public:
  // Values that can be read after the last column, so that the last ones can be read in vectors.
  static constexpr int64_t kColumnPadding = 16;

  struct Range {
    // Of each layer, (d, stride) in the type of the weights: one column per distance, then at least
    // kColumnPadding zeros.
    std::vector<Matrix> columns;
    Distances distances;
  };

  // At least one layer. Distances beyond -max_distance .. max_distance have no rows.
  PositionTable(std::vector<LinearPos> layers, TableOrder order, int64_t max_distance);

  // A range that contains `wanted`, clamped to +-max_distance, and perhaps more. It is valid while
  // both the pointer and the table exist.
  std::shared_ptr<const Range> Covering(const Distances& wanted) const;

 private:
  // The range to remember next: `known` and `wanted`. An end that `known` does not reach is placed
  // twice as far as `wanted` needs.
  Distances Widened(const Distances& known, const Distances& wanted) const;

  // Columns of `known`, which may be null, are copied from there.
  Range Compute(const Distances& distances, const Range* known) const;

  std::vector<LinearPos> layers_;
  TableOrder order_;
  Distances bounds_;
  // Ranges computed so far, each within the next. All are kept, because readers hold no lock.
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const Range>> ranges_;
  mutable std::atomic<const Range*> widest_{nullptr};
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_POSITION_TABLE_H_
