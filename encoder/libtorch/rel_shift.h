// The relative shift of ChunkRPE, the shift of legacy_rel_pos, and scores by distance.
#ifndef RUNNEL_ENCODER_LIBTORCH_REL_SHIFT_H_
#define RUNNEL_ENCODER_LIBTORCH_REL_SHIFT_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "encoder/position/distances.h"

namespace runnel::libtorch {

// The (H, C, L) view of a (H, C, L + C - 1) tensor in which row i starts C - 1 - i columns later:
// the relative shift (Dai et al. 2019, appendix B) for C queries that end L keys. `scores` must be
// contiguous; the view shares its memory.
at::Tensor RelShift(const at::Tensor& scores, int64_t num_keys);

// (H, C, L): q . table[distance of the pair]. queries: (H, C, d_k); table: (n, d_k) shared by the
// heads or (H, n, d_k), the rows of the distances `rows`; `wanted`: the distances between these
// queries and L keys. Wanted distances beyond `rows` read the row at the nearest end.
at::Tensor DistanceScores(const at::Tensor& queries, const at::Tensor& table, const Distances& rows,
                          const Distances& wanted);

// ESPnet's legacy shift: (H, C, T) scores of the queries first .. first + C - 1 of T. `scores`:
// (H, rows, T), the queries from `first` on multiplied with a table of T rows; rows is C + 1, or C
// where the last query is among them.
//
// The whole (T, T) matrix gets a column of zeros on its left, is read as (T + 1, T), and loses its
// first row. So entry (i, j) is found T - i + j values after the start of row i of the padded
// matrix, in that row or in the next one.
at::Tensor LegacyShift(const at::Tensor& scores, int64_t first, int64_t num_queries);

}  // namespace runnel::libtorch

#endif  // RUNNEL_ENCODER_LIBTORCH_REL_SHIFT_H_
