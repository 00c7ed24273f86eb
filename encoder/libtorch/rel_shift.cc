#include "encoder/libtorch/rel_shift.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/constant_pad_nd.h>
#include <ATen/ops/matmul.h>

namespace runnel::libtorch {

at::Tensor RelShift(const at::Tensor& scores, int64_t num_keys) {
  const int64_t rows = scores.size(1);
  const int64_t columns = scores.size(2);
  return scores.as_strided({scores.size(0), rows, num_keys}, {rows * columns, columns - 1, 1},
                           scores.storage_offset() + rows - 1);
}

at::Tensor DistanceScores(const at::Tensor& queries, const at::Tensor& table, const Distances& rows,
                          const Distances& wanted) {
  const Distances found = wanted.ClampedTo(rows);
  const at::Tensor used = table.narrow(-2, rows.first - found.first, found.size());
  at::Tensor scores = at::matmul(queries, used.transpose(-2, -1)).contiguous();
  if (found.size() < wanted.size()) {
    const at::Tensor before = scores.narrow(2, 0, 1).expand({-1, -1, wanted.first - found.first});
    const at::Tensor after =
        scores.narrow(2, found.size() - 1, 1).expand({-1, -1, found.last - wanted.last});
    scores = at::cat({before, scores, after}, 2);
  }
  return RelShift(scores, wanted.size() - queries.size(1) + 1);
}

at::Tensor LegacyShift(const at::Tensor& scores, int64_t first, int64_t num_queries) {
  const int64_t num_frames = scores.size(2);
  const at::Tensor padded = at::constant_pad_nd(scores, {1, 0}).contiguous();
  return padded.as_strided({scores.size(0), num_queries, num_frames},
                           {scores.size(1) * (num_frames + 1), num_frames, 1},
                           padded.storage_offset() + num_frames - first);
}

}  // namespace runnel::libtorch
