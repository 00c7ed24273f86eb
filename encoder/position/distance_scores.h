// Scores that depend on a query and on its distance to the key: one product with a table of all
// distances, of which each row is then read from its own column on.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_POSITION_DISTANCE_SCORES_H_
#define RUNNEL_ENCODER_POSITION_DISTANCE_SCORES_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "encoder/position/position_scheme.h"

namespace runnel {

// The distances (query frame minus key frame) first, first - 1, ..., last.
struct Distances {
  int64_t first;
  int64_t last;

  int64_t size() const { return first - last + 1; }
  // Every distance beyond the range's ends moved to its end.
  Distances ClampedTo(const Distances& range) const;
};

// Those between all queries of a chunk and all its keys: L + C - 1 of them, zero among them.
Distances DistancesOf(const AttentionChunk& chunk);
// Those between the queries of a block and all keys of its chunk.
Distances DistancesOf(const AttentionChunk& chunk, const QueryBlock& block);

// (H, C, L): q . table[distance of the pair]. queries: (H, C, d_k); table: (n, d_k) shared by the
// heads or (H, n, d_k), the rows of the distances `rows`; `wanted`: the distances between these
// queries and L keys. Wanted distances beyond `rows` read the row at its end.
at::Tensor DistanceScores(const at::Tensor& queries, const at::Tensor& table, const Distances& rows,
                          const Distances& wanted);

// The (H, C, L) view of a (H, C, L + C - 1) table in which row i starts C - 1 - i columns later:
// the relative shift. `table` must be contiguous; the view shares its memory.
at::Tensor RelShift(const at::Tensor& table, int64_t num_keys);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_POSITION_DISTANCE_SCORES_H_
