#include "encoder/cpu/cached_rows.h"

#include "encoder/cpu/kernels/row_kernels.h"

namespace runnel::cpu {

void CollectRows(const RowRing& ring, kernels::Scratch* scratch, const float** pointers) {
  if (ring.type() == DataType::kFloat32) {
    for (int64_t i = 0; i < ring.size(); ++i) pointers[i] = static_cast<const float*>(ring.Row(i));
    return;
  }
  auto* wide = scratch->Take<float>(ring.size() * ring.dim());
  for (int64_t i = 0; i < ring.size(); ++i, wide += ring.dim()) {
    kernels::WidenBfloat16(static_cast<const uint16_t*>(ring.Row(i)), ring.dim(), wide);
    pointers[i] = wide;
  }
}

void AppendRows(const float* rows, int64_t stride, int64_t count, int64_t limit, RowRing* ring) {
  if (ring->type() == DataType::kFloat32) {
    ring->Append(rows, stride, count, limit);
    return;
  }
  kernels::Scratch scratch;
  auto* rounded = scratch.Take<uint16_t>(count * ring->dim());
  for (int64_t i = 0; i < count; ++i) {
    kernels::RoundToBfloat16(rows + i * stride, ring->dim(), rounded + i * ring->dim());
  }
  ring->Append(rounded, ring->dim(), count, limit);
}

}  // namespace runnel::cpu
