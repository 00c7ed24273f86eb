#include "encoder/position/distance_scores.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>

#include <algorithm>

namespace runnel {

Distances Distances::ClampedTo(const Distances& range) const {
  return {std::clamp(first, range.last, range.first), std::clamp(last, range.last, range.first)};
}

Distances DistancesOf(const AttentionChunk& chunk) {
  return DistancesOf(chunk, {0, chunk.num_queries()});
}

Distances DistancesOf(const AttentionChunk& chunk, const QueryBlock& block) {
  const int64_t first_query = chunk.num_cached() + block.first;  // its key's place
  return {first_query + block.count - 1, first_query - (chunk.num_keys() - 1)};
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

at::Tensor RelShift(const at::Tensor& table, int64_t num_keys) {
  const int64_t rows = table.size(1);
  const int64_t columns = table.size(2);
  return table.as_strided({table.size(0), rows, num_keys}, {rows * columns, columns - 1, 1},
                          table.storage_offset() + rows - 1);
}

}  // namespace runnel
