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
  // The product of two values at once is that of each, because none is above 255.
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

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_FOUR_BITS_INL_H_
