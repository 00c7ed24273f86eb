// Square blocks of a matrix, transposed in registers. Included once per instruction set (Highway).

#include "hwy/highway.h"

#if defined(RUNNEL_ENCODER_CPU_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNNEL_ENCODER_CPU_KERNELS_TRANSPOSE_INL_H_
#undef RUNNEL_ENCODER_CPU_KERNELS_TRANSPOSE_INL_H_
#else
#define RUNNEL_ENCODER_CPU_KERNELS_TRANSPOSE_INL_H_
#endif

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {

// rows: as many vectors as a vector has lanes (1, 4, 8 or 16). Each round swaps the off-diagonal
// quarters of all blocks of twice its size: single lanes, pairs, 128-bit blocks, halves.
template <class V>
HWY_INLINE void TransposeBlock([[maybe_unused]] V* rows) {
#if HWY_TARGET != HWY_SCALAR
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::DFromV<V> d;
  constexpr size_t kLanes = HWY_LANES(float);
  const auto swap = [rows](size_t distance, const auto& first, const auto& second) HWY_ATTR {
    for (size_t i = 0; i < kLanes; ++i) {
      if ((i & distance) != 0) continue;
      const V a = rows[i];
      const V b = rows[i + distance];
      rows[i] = first(a, b);
      rows[i + distance] = second(a, b);
    }
  };
  swap(
      1, [&](V a, V b) HWY_ATTR { return hn::OddEven(hn::DupEven(b), a); },
      [&](V a, V b) HWY_ATTR { return hn::OddEven(b, hn::DupOdd(a)); });
  const hn::RepartitionToWide<decltype(d)> pairs;
  swap(
      2,
      [&](V a, V b) HWY_ATTR {
        return hn::BitCast(
            d, hn::InterleaveLower(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
      },
      [&](V a, V b) HWY_ATTR {
        return hn::BitCast(
            d, hn::InterleaveUpper(pairs, hn::BitCast(pairs, a), hn::BitCast(pairs, b)));
      });
#if HWY_MAX_BYTES == 32
  swap(
      4, [&](V a, V b) HWY_ATTR { return hn::ConcatLowerLower(d, b, a); },
      [&](V a, V b) HWY_ATTR { return hn::ConcatUpperUpper(d, b, a); });
#elif HWY_MAX_BYTES == 64
  swap(
      4, [&](V a, V b) HWY_ATTR { return hn::OddEvenBlocks(hn::SwapAdjacentBlocks(b), a); },
      [&](V a, V b) HWY_ATTR { return hn::OddEvenBlocks(b, hn::SwapAdjacentBlocks(a)); });
  swap(
      8, [&](V a, V b) HWY_ATTR { return hn::ConcatLowerLower(d, b, a); },
      [&](V a, V b) HWY_ATTR { return hn::ConcatUpperUpper(d, b, a); });
#endif
#endif  // HWY_TARGET != HWY_SCALAR
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_TRANSPOSE_INL_H_
