// Float32 rows of the kernels to and from the rings of a stream's state.
#ifndef RUNNEL_ENCODER_CPU_CACHED_ROWS_H_
#define RUNNEL_ENCODER_CPU_CACHED_ROWS_H_

#include <cstdint>

#include "encoder/cpu/kernels/scratch.h"
#include "encoder/row_ring.h"

namespace runnel::cpu {

// Fills pointers[0 .. ring.size() - 1] with the rows, oldest first. Rows of bfloat16 are widened
// into `scratch`. Valid until the ring changes and while `scratch` lives.
void CollectRows(const RowRing& ring, kernels::Scratch* scratch, const float** pointers);

// RowRing::Append of float32 rows, rounded where the ring holds bfloat16.
void AppendRows(const float* rows, int64_t stride, int64_t count, int64_t limit, RowRing* ring);

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_CACHED_ROWS_H_
