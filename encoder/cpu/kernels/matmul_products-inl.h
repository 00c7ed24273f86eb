// The products of a matrix multiplication: four bytes of a row (a group: one float, two bfloat16 or
// four int8) with four bytes of each output of a vector, added to one sum per output. Included once
// per instruction set (Highway).

#include "encoder/cpu/kernels/row_kernels-inl.h"
#include "hwy/highway.h"

#if defined(RUNNEL_ENCODER_CPU_KERNELS_MATMUL_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_PRODUCTS_INL_H_
#undef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_PRODUCTS_INL_H_
#else
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_PRODUCTS_INL_H_
#endif

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using IntVector = hn::Vec<IntTag>;

#if HWY_TARGET == HWY_NEON
// NEON multiplies by one element of a vector, so a vector of a row holds four groups. kGroup names
// the one that is added.
struct Float32Product {
  using Tag = FloatTag;
  template <int kGroup>
  static HWY_INLINE FloatVector Add(IntVector row, IntVector weights, FloatVector sums) {
    const FloatTag d;
    return FloatVector{
        vfmaq_laneq_f32(sums.raw, hn::BitCast(d, weights).raw, hn::BitCast(d, row).raw, kGroup)};
  }
};

// Two bfloat16 as float32: a bfloat16 is the upper half of the float32 of the same value.
struct WidenedBfloat16Product {
  using Tag = FloatTag;
  template <int kGroup>
  static HWY_INLINE FloatVector Add(IntVector row, IntVector weights, FloatVector sums) {
    const IntVector upper = hn::Set(IntTag(), static_cast<int32_t>(0xFFFF0000U));
    sums = Float32Product::Add<kGroup>(hn::ShiftLeft<16>(row), hn::ShiftLeft<16>(weights), sums);
    return Float32Product::Add<kGroup>(hn::And(row, upper), hn::And(weights, upper), sums);
  }
};

// int8 times int8, exact. Two products fit into 16 bits, because weights are at least -127.
struct Int8Product {
  using Tag = IntTag;
  template <int kGroup>
  static HWY_INLINE IntVector Add(IntVector row, IntVector weights, IntVector sums) {
    const int8x16_t group = vreinterpretq_s8_s32(vdupq_laneq_s32(row.raw, kGroup));
    const int8x16_t four = vreinterpretq_s8_s32(weights.raw);
    const int16x8_t low = vmull_s8(vget_low_s8(group), vget_low_s8(four));
    const int16x8_t high = vmull_high_s8(group, four);
    return IntVector{vpadalq_s16(sums.raw, vpaddq_s16(low, high))};
  }
};

// Instructions of some processors only (InstructionSet), spelled out, because this code is compiled
// for all of them.
struct DotInt8Product {
  using Tag = IntTag;
  template <int kGroup>
  static HWY_INLINE IntVector Add(IntVector row, IntVector weights, IntVector sums) {
    asm(".arch armv8.2-a+crypto+dotprod\n\t"
        "sdot %0.4s, %1.16b, %2.4b[%3]"
        : "+w"(sums.raw)
        : "w"(weights.raw), "w"(row.raw), "n"(kGroup));
    return sums;
  }
};
struct DotBfloat16Product {
  using Tag = FloatTag;
  template <int kGroup>
  static HWY_INLINE FloatVector Add(IntVector row, IntVector weights, FloatVector sums) {
    asm(".arch armv8.2-a+crypto+bf16\n\t"
        "bfdot %0.4s, %1.8h, %2.2h[%3]"
        : "+w"(sums.raw)
        : "w"(weights.raw), "w"(row.raw), "n"(kGroup));
    return sums;
  }
};

#else
// A group of a row, in every lane.
HWY_INLINE IntVector RepeatGroup(const uint8_t* group) {
  int32_t bytes;
  std::memcpy(&bytes, group, sizeof(bytes));
  return hn::Set(IntTag(), bytes);
}

struct Float32Product {
  using Tag = FloatTag;
  static HWY_INLINE FloatVector Add(IntVector row, IntVector weights, FloatVector sums) {
    const FloatTag d;
    return hn::MulAdd(hn::BitCast(d, row), hn::BitCast(d, weights), sums);
  }
};

// Two bfloat16 as float32: a bfloat16 is the upper half of the float32 of the same value.
struct WidenedBfloat16Product {
  using Tag = FloatTag;
  static HWY_INLINE FloatVector Add(IntVector row, IntVector weights, FloatVector sums) {
    const FloatTag d;
    const IntVector upper = hn::Set(IntTag(), static_cast<int32_t>(0xFFFF0000U));
    const auto first = [&](IntVector pair)
                           HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<16>(pair)); };
    const auto second = [&](IntVector pair)
                            HWY_ATTR { return hn::BitCast(d, hn::And(pair, upper)); };
    return hn::MulAdd(second(row), second(weights), hn::MulAdd(first(row), first(weights), sums));
  }
};

// QuantizedValue times int8, exact. Rows that are at most 127 need no more than 16 bits for two
// products.
struct Int8Product {
  using Tag = IntTag;
  static HWY_INLINE IntVector Add(IntVector row, IntVector weights, IntVector sums) {
#if HWY_TARGET == HWY_AVX3
    const __m512i pairs = _mm512_maddubs_epi16(row.raw, weights.raw);
    return hn::Add(sums, IntVector{_mm512_madd_epi16(pairs, _mm512_set1_epi16(1))});
#elif HWY_TARGET == HWY_AVX2
    const __m256i pairs = _mm256_maddubs_epi16(row.raw, weights.raw);
    return hn::Add(sums, IntVector{_mm256_madd_epi16(pairs, _mm256_set1_epi16(1))});
#elif HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
    const __m128i pairs = _mm_maddubs_epi16(row.raw, weights.raw);
    return hn::Add(sums, IntVector{_mm_madd_epi16(pairs, _mm_set1_epi16(1))});
#else
    const IntVector byte = hn::Set(IntTag(), 255);
    sums =
        hn::Add(sums, hn::Mul(hn::And(row, byte), hn::ShiftRight<24>(hn::ShiftLeft<24>(weights))));
    sums = hn::Add(sums, hn::Mul(hn::And(hn::ShiftRight<8>(row), byte),
                                 hn::ShiftRight<24>(hn::ShiftLeft<16>(weights))));
    sums = hn::Add(sums, hn::Mul(hn::And(hn::ShiftRight<16>(row), byte),
                                 hn::ShiftRight<24>(hn::ShiftLeft<8>(weights))));
    return hn::Add(sums,
                   hn::Mul(hn::And(hn::ShiftRight<24>(row), byte), hn::ShiftRight<24>(weights)));
#endif
  }
};

#if HWY_TARGET == HWY_AVX3
// Instructions of some processors with AVX-512 only (InstructionSet), spelled out, because this
// code is compiled for all of them.
struct DotInt8Product {
  using Tag = IntTag;
  static HWY_INLINE IntVector Add(IntVector row, IntVector weights, IntVector sums) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sums.raw) : "v"(row.raw), "v"(weights.raw));
    return sums;
  }
};
struct DotBfloat16Product {
  using Tag = FloatTag;
  static HWY_INLINE FloatVector Add(IntVector row, IntVector weights, FloatVector sums) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sums.raw) : "v"(row.raw), "v"(weights.raw));
    return sums;
  }
};
#endif
#endif  // HWY_TARGET == HWY_NEON

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_PRODUCTS_INL_H_
