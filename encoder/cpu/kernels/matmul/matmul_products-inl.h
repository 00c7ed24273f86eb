// The products of a matrix multiplication: four bytes of a row (a group: one float, two bfloat16 or
// four int8) with four bytes of each output of a vector, added to one sum per output. Included once
// per instruction set (Highway).

#include "encoder/cpu/kernels/row_kernels-inl.h"
#include "hwy/highway.h"

#if defined(RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_PRODUCTS_INL_H_
#undef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_PRODUCTS_INL_H_
#else
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_PRODUCTS_INL_H_
#endif

#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using IntVector = hn::Vec<IntTag>;

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

// uint8 times int8, exact. Rows that are at most 127 need no more than 16 bits for two products.
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

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_PRODUCTS_INL_H_
