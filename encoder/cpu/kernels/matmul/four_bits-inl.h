// Expands four-bit weights (four_bits.h) to int8. Included once per instruction set
// (Highway).

#include "encoder/cpu/kernels/row_kernels-inl.h"
#include "hwy/highway.h"

#if defined(RUNNEL_ENCODER_CPU_KERNELS_MATMUL_FOUR_BITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_FOUR_BITS_INL_H_
#undef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_FOUR_BITS_INL_H_
#else
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_FOUR_BITS_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "encoder/cpu/kernels/matmul/four_bits.h"
#include "encoder/cpu/kernels/matmul/packed_matrix.h"

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Of the outputs of a vector, the scales and minima of a group.
class FourBitScales {
 public:
  // block: that of the group in its panel.
  HWY_INLINE FourBitScales(const uint8_t* block, int64_t output)
      : scales_(RepeatBytes(block + output, kScaleCopies)),
        minima_(RepeatBytes(block + kPanelOutputs + output, 0x01010101)) {}

  // A group of an int8 panel, from the lower (0) or upper (1) halves of the bytes.
  template <int kHalf>
  HWY_INLINE hn::Vec<IntTag> Expand(hn::Vec<IntTag> bytes) const {
    const IntTag ints;
    const auto halves = hn::And(hn::ShiftRight<4 * kHalf>(bytes), hn::Set(ints, 0x0F0F0F0F));
#if HWY_TARGET == HWY_SCALAR
    const auto products = hn::Mul(halves, scales_);
    // The sum of each byte, by itself.
    const auto low_bits = hn::Set(ints, 0x7F7F7F7F);
    const auto sums = hn::Add(hn::And(products, low_bits), hn::And(minima_, low_bits));
    return hn::Xor(sums, hn::AndNot(low_bits, hn::Xor(products, minima_)));
#else
    const hn::Repartition<uint16_t, IntTag> pairs;
    const hn::Repartition<uint8_t, IntTag> d;
    const auto products = hn::Mul(hn::BitCast(pairs, halves), hn::BitCast(pairs, scales_));
    return hn::BitCast(ints, hn::Add(hn::BitCast(d, products), hn::BitCast(d, minima_)));
#endif
  }

 private:
  // A product of two or four values at once is that of each, because none is above 255.
#if HWY_TARGET == HWY_SCALAR
  static constexpr int32_t kScaleCopies = 1;
#else
  static constexpr int32_t kScaleCopies = 0x00010001;
#endif

  static HWY_INLINE hn::Vec<IntTag> RepeatBytes(const uint8_t* bytes, int32_t copies) {
    const hn::Rebind<uint8_t, IntTag> d;
    return hn::Mul(hn::PromoteTo(IntTag(), hn::LoadU(d, bytes)), hn::Set(IntTag(), copies));
  }

  hn::Vec<IntTag> scales_, minima_;
};

// Writes a panel of `num_blocks` blocks as the int8 panel of the same weights.
inline void ExpandPanel(const uint8_t* panel, int64_t num_blocks, uint8_t* to) {
  const IntTag ints;
  constexpr int64_t kLanes = std::min<int64_t>(HWY_LANES(float), kPanelOutputs);
  constexpr int64_t kPanelGroup = kGroupBytes * kPanelOutputs;
  const auto store = [&](auto group, uint8_t* bytes)
                         HWY_ATTR { hn::StoreU(group, ints, reinterpret_cast<int32_t*>(bytes)); };
  for (int64_t block = 0; block < num_blocks; ++block) {
    for (int64_t output = 0; output < kPanelOutputs; output += kLanes) {
      const FourBitScales scales(panel, output);
      const uint8_t* values = panel + kFourBitScaleBytes + kGroupBytes * output;
      uint8_t* group = to + kGroupBytes * output;
      for (int64_t pair = 0; pair < kFourBitPairs; ++pair) {
        const auto bytes = hn::LoadU(ints, reinterpret_cast<const int32_t*>(values));
        store(scales.Expand<0>(bytes), group);
        store(scales.Expand<1>(bytes), group + kPanelGroup);
        values += kPanelGroup;
        group += 2 * kPanelGroup;
      }
    }
    panel += kFourBitBlockBytes;
    to += 2 * kFourBitPairs * kPanelGroup;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_FOUR_BITS_INL_H_
