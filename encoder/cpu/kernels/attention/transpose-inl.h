// A few rows of a matrix, transposed in registers. Included once per instruction set (Highway).

#include "hwy/highway.h"

#if defined(RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_TRANSPOSE_INL_H_
#undef RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_TRANSPOSE_INL_H_
#else
#define RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_TRANSPOSE_INL_H_
#endif

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {

// Rows that TransposeRows takes. Wider vectors would need more shuffles per value, and more
// pointers than the processor has registers.
constexpr size_t kTransposedRows = HWY_MIN(8, HWY_LANES(float));

#if HWY_TARGET != HWY_SCALAR
// The four values of rows[0] from k on; in vectors of two blocks, then those of rows[4].
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadBlocks(D d, const float* const* rows, int64_t k) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (hn::MaxLanes(D()) == 4) {
    return hn::LoadU(d, rows[0] + k);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, hn::LoadU(half, rows[4] + k), hn::LoadU(half, rows[0] + k));
  }
}
#endif  // HWY_TARGET != HWY_SCALAR

// columns[c * stride + r] = rows[r][first + c] for kTransposedRows rows and `num_columns` columns.
HWY_INLINE void TransposeRows(const float* const* rows, int64_t first, int64_t num_columns,
                              float* columns, int64_t stride) {
  int64_t k = first;
  const int64_t end = first + num_columns;
#if HWY_TARGET != HWY_SCALAR
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, kTransposedRows> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  using V = hn::Vec<decltype(d)>;
  const auto lower = [&](V a, V b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto upper = [&](V a, V b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  // Four columns of rows r and, in the second block, r + 4.
  const float* pointers[kTransposedRows];
  for (size_t r = 0; r < kTransposedRows; ++r) pointers[r] = rows[r];
  const int64_t stride2 = 2 * stride;
  const int64_t stride3 = 3 * stride;
  for (; k + 4 <= end; k += 4) {
    const V row0 = LoadBlocks(d, pointers, k);
    const V row1 = LoadBlocks(d, pointers + 1, k);
    const V row2 = LoadBlocks(d, pointers + 2, k);
    const V row3 = LoadBlocks(d, pointers + 3, k);
    const V low01 = hn::InterleaveLower(d, row0, row1);
    const V low23 = hn::InterleaveLower(d, row2, row3);
    const V high01 = hn::InterleaveUpper(d, row0, row1);
    const V high23 = hn::InterleaveUpper(d, row2, row3);
    hn::StoreU(lower(low01, low23), d, columns);
    hn::StoreU(upper(low01, low23), d, columns + stride);
    hn::StoreU(lower(high01, high23), d, columns + stride2);
    hn::StoreU(upper(high01, high23), d, columns + stride3);
    columns += 4 * stride;
  }
#endif  // HWY_TARGET != HWY_SCALAR
  for (; k < end; ++k, columns += stride) {
    for (size_t r = 0; r < kTransposedRows; ++r) columns[r] = rows[r][k];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_TRANSPOSE_INL_H_
