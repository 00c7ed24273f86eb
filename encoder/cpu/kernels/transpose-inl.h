// Columns of a few rows, transposed in registers. Included once per instruction set (Highway).

#include "hwy/highway.h"

#if defined(RUNNEL_ENCODER_CPU_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNNEL_ENCODER_CPU_KERNELS_TRANSPOSE_INL_H_
#undef RUNNEL_ENCODER_CPU_KERNELS_TRANSPOSE_INL_H_
#else
#define RUNNEL_ENCODER_CPU_KERNELS_TRANSPOSE_INL_H_
#endif

#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
template <class RowAt>
HWY_INLINE void TransposeFour(const RowAt& row_at, hwy::HWY_NAMESPACE::Vec1<float>* columns) {
  for (int c = 0; c < 4; ++c) columns[c].raw = row_at(0)[c];
}
#else

// The 128-bit blocks of four values that start at row_at(0), row_at(4), ...
template <class D, class RowAt>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> LoadBlocks(D d, const RowAt& row_at) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr size_t kLanes = hn::MaxLanes(D());
  if constexpr (kLanes == 4) {
    return hn::LoadU(d, row_at(0));
  } else {
    const hn::Half<D> half;
    const auto high = [&](int64_t row) HWY_ATTR {
      return row_at(row + static_cast<int64_t>(kLanes / 2));
    };
    return hn::Combine(d, LoadBlocks(half, high), LoadBlocks(half, row_at));
  }
}

// columns[c], lane r = row_at(r)[c] for c = 0 .. 3 and as many rows as a vector has lanes.
template <class V, class RowAt>
HWY_INLINE void TransposeFour(const RowAt& row_at, V* columns) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::DFromV<V> d;
  const hn::RepartitionToWide<decltype(d)> pairs;
  V rows[4];  // block b of rows[m] comes from row 4 b + m
  for (int64_t m = 0; m < 4; ++m) {
    rows[m] = LoadBlocks(d, [&](int64_t row) HWY_ATTR { return row_at(row + m); });
  }
  const auto lower = [&](V a, V b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const auto upper = [&](V a, V b) HWY_ATTR {
    return hn::BitCast(d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
  };
  const V low01 = hn::InterleaveLower(d, rows[0], rows[1]);
  const V low23 = hn::InterleaveLower(d, rows[2], rows[3]);
  const V high01 = hn::InterleaveUpper(d, rows[0], rows[1]);
  const V high23 = hn::InterleaveUpper(d, rows[2], rows[3]);
  columns[0] = lower(low01, low23);
  columns[1] = upper(low01, low23);
  columns[2] = lower(high01, high23);
  columns[3] = upper(high01, high23);
}

#endif  // HWY_TARGET != HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_TRANSPOSE_INL_H_
