// Each key is scored by its absolute frame, without a shift ("rel_pos" of WeNet since v0.1):
//
//   score(i, j) = ((q_i + u) k_j + (q_i + v) W_pos PE(frame of key j)) / sqrt(d_k)
//
// WeNet's table ends at frame 5000; here the 64-bit frame number has no limit.
#include <ATen/ops/cat.h>

#include "encoder/position/relative_query.h"
#include "encoder/position/schemes.h"

namespace runnel {
namespace {

// Frames that are projected together. The rounding of a matrix multiplication may depend on its
// number of rows, so frames are projected in blocks of fixed size and place.
constexpr int64_t kBlockRows = 16;

}  // namespace

at::Tensor RowsByKeyFrame::Rows(int64_t first, int64_t end) const {
  const int64_t index =
      ((first % kBlockRows) + kBlockRows) % kBlockRows;  // of `first` in its block
  std::vector<at::Tensor> blocks;
  for (int64_t start = first - index; start < end; start += kBlockRows) {
    blocks.push_back(linear_pos.Rows(start, start + kBlockRows - 1));
  }
  const at::Tensor rows = at::cat(blocks);
  return rows.narrow(0, index, rows.size(0) - index);
}

PositionModules BuildScheme(const UnshiftedPosition& config, Weights* weights,
                            const AttentionNames& names, const AttentionSizes& sizes) {
  PositionModules modules;
  for (const std::string& name : names) {
    PositionScheme scheme = TakeRelativeQuery(weights, name, sizes, config.query);
    scheme.rows = RowsByKeyFrame{LinearPos(weights, name, sizes, config.query.linear_pos_bias)};
    modules.layers.push_back(std::move(scheme));
  }
  return modules;
}

}  // namespace runnel
