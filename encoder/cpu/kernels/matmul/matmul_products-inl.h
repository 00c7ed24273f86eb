// The products of a matrix multiplication: four bytes of a row (a group: one float, two bfloat16 or
// four int8) with four bytes of each output of a vector, added to one sum per output. And the loop
// over the groups of a tile. Included once per instruction set (Highway).

#include "encoder/cpu/kernels/matmul/four_bits-inl.h"
#include "encoder/cpu/kernels/row_kernels-inl.h"
#include "hwy/highway.h"

#if defined(RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_PRODUCTS_INL_H_
#undef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_PRODUCTS_INL_H_
#else
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_PRODUCTS_INL_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "encoder/cpu/kernels/matmul/packed_matrix.h"

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using IntVector = hn::Vec<IntTag>;

// Bytes of a row that a step of a tile reads.
#if HWY_TARGET == HWY_NEON
constexpr int64_t kRowStepBytes = 4 * kGroupBytes;
#else
constexpr int64_t kRowStepBytes = kGroupBytes;
#endif
constexpr int64_t kPanelGroupBytes = kGroupBytes * kPanelOutputs;

// Rows of a tile at most. Its sums stay in registers: two vectors of outputs per row. Products that
// keep more values beside them (kSmallTileRows) have fewer rows.
#if HWY_TARGET == HWY_AVX3
constexpr int kMaxTileRows = 14;
constexpr int kSmallTileRows = 12;
#elif HWY_TARGET == HWY_NEON
constexpr int kMaxTileRows = 8;  // whose groups stay in registers, too
constexpr int kSmallTileRows = 8;
#elif HWY_TARGET == HWY_AVX2
constexpr int kMaxTileRows = 6;
constexpr int kSmallTileRows = 4;
#else
constexpr int kMaxTileRows = 4;
constexpr int kSmallTileRows = 4;
#endif

// The weights that a tile fetches from memory before their use.
enum class Fetch {
  kNothing,
  kAhead,      // of its panel, kBytesAhead later
  kNextPanel,  // a half of the next panel
};
constexpr int64_t kBytesAhead = 4096;
constexpr int64_t kNextPanelStep = kGroupBytes * HWY_LANES(float);  // per group

// Four bytes of each output of a pair of vectors.
struct WeightPair {
  IntVector first, second;
};
HWY_INLINE WeightPair LoadWeights(const uint8_t* bytes) {
  const IntTag ints;
  const auto* values = reinterpret_cast<const int32_t*>(bytes);
  return {hn::LoadU(ints, values), hn::LoadU(ints, values + hn::Lanes(ints))};
}

// The rows of a matmul as bytes.
struct RowBytes {
  const uint8_t* first;
  int64_t stride;
  const uint8_t* row(int64_t r) const { return first + r * stride; }
};

#if HWY_TARGET == HWY_NEON
// NEON multiplies by one element of a vector, so a vector of a row holds four groups. kGroup names
// the one that is added.
struct Float32Product {
  using Tag = FloatTag;
  static constexpr int kTileRows = kMaxTileRows;
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
  static constexpr int kTileRows = kSmallTileRows;
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
  static constexpr int kTileRows = kSmallTileRows;
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
  static constexpr int kTileRows = kMaxTileRows;
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
  static constexpr int kTileRows = kMaxTileRows;
  template <int kGroup>
  static HWY_INLINE FloatVector Add(IntVector row, IntVector weights, FloatVector sums) {
    asm(".arch armv8.2-a+crypto+bf16\n\t"
        "bfdot %0.4s, %1.8h, %2.2h[%3]"
        : "+w"(sums.raw)
        : "w"(weights.raw), "w"(row.raw), "n"(kGroup));
    return sums;
  }
};

template <class Product, int kGroup, int kRows, class Sums>
HWY_INLINE void AddGroup(const IntVector (&rows)[kRows], IntVector first, IntVector second,
                         Sums (&tile)[kRows][2]) {
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
    tile[r][0] = Product::template Add<kGroup>(rows[r], first, tile[r][0]);
    tile[r][1] = Product::template Add<kGroup>(rows[r], second, tile[r][1]);
  }
}

// Adds all groups of the rows, four at a step, to a pair of vectors of outputs.
template <class Product, int kRows, Fetch kFetch, class Sums>
HWY_INLINE void AddGroups(const RowBytes& x, const uint8_t* weights, int64_t num_groups,
                          const uint8_t* next_panel, Sums (&tile)[kRows][2]) {
  const IntTag ints;
  const uint8_t* next[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) next[r] = x.row(r);
  for (int64_t group = 0; group < num_groups; group += 4) {
    if constexpr (kFetch == Fetch::kAhead) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        __builtin_prefetch(weights + i * kPanelGroupBytes + kBytesAhead, 0, 2);
      }
    } else if constexpr (kFetch == Fetch::kNextPanel) {
      __builtin_prefetch(next_panel, 0, 2);
      next_panel += 4 * kNextPanelStep;
    }
    IntVector rows[kRows];
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      rows[r] = hn::LoadU(ints, reinterpret_cast<const int32_t*>(next[r]));
      next[r] += kRowStepBytes;
    }
    const auto add = [&](auto group) HWY_ATTR {
      const WeightPair pair = LoadWeights(weights + group() * kPanelGroupBytes);
      AddGroup<Product, group()>(rows, pair.first, pair.second, tile);
    };
    add(std::integral_constant<int, 0>());
    add(std::integral_constant<int, 1>());
    add(std::integral_constant<int, 2>());
    add(std::integral_constant<int, 3>());
    weights += 4 * kPanelGroupBytes;
  }
}

// The same with a panel of four-bit weights. num_groups: a multiple of 8.
template <class Product, int kRows, class Sums>
HWY_INLINE void AddFourBitGroups(const RowBytes& x, const uint8_t* panel, int64_t num_groups,
                                 int64_t output, Sums (&tile)[kRows][2]) {
  const IntTag ints;
  const uint8_t* next[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) next[r] = x.row(r);
  for (int64_t group = 0; group < num_groups; group += 2 * kFourBitPairs) {
    const FourBitScales first(panel, output);
    const FourBitScales second(panel, output + static_cast<int64_t>(hn::Lanes(ints)));
    const uint8_t* values = panel + kFourBitScaleBytes + kGroupBytes * output;
    for (int64_t half = 0; half < 2; ++half) {
      IntVector rows[kRows];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        rows[r] = hn::LoadU(ints, reinterpret_cast<const int32_t*>(next[r]));
        next[r] += kRowStepBytes;
      }
      const auto add = [&](auto pair) HWY_ATTR {
        __builtin_prefetch(values + kBytesAhead, 0, 2);
        const WeightPair bytes = LoadWeights(values);
        AddGroup<Product, 2 * pair()>(rows, first.template Expand<0>(bytes.first),
                                      second.template Expand<0>(bytes.second), tile);
        AddGroup<Product, 2 * pair() + 1>(rows, first.template Expand<1>(bytes.first),
                                          second.template Expand<1>(bytes.second), tile);
        values += kPanelGroupBytes;
      };
      add(std::integral_constant<int, 0>());
      add(std::integral_constant<int, 1>());
    }
    panel += kFourBitBlockBytes;
  }
}

#else
// A group of a row, in every lane.
HWY_INLINE IntVector RepeatGroup(const uint8_t* group) {
  int32_t bytes;
  std::memcpy(&bytes, group, sizeof(bytes));
  return hn::Set(IntTag(), bytes);
}

struct Float32Product {
  using Tag = FloatTag;
  static constexpr int kTileRows = kMaxTileRows;
  static HWY_INLINE FloatVector Add(IntVector row, IntVector weights, FloatVector sums) {
    const FloatTag d;
    return hn::MulAdd(hn::BitCast(d, row), hn::BitCast(d, weights), sums);
  }
};

// Two bfloat16 as float32: a bfloat16 is the upper half of the float32 of the same value.
struct WidenedBfloat16Product {
  using Tag = FloatTag;
  static constexpr int kTileRows = kSmallTileRows;
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
  static constexpr int kTileRows = kSmallTileRows;
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
#elif HWY_TARGET == HWY_WASM
    // Sums of pairs: of the groups of the first two outputs, of the last two.
    const auto first = wasm_i32x4_dot_i16x8(wasm_u16x8_extend_low_u8x16(row.raw),
                                            wasm_i16x8_extend_low_i8x16(weights.raw));
    const auto second = wasm_i32x4_dot_i16x8(wasm_u16x8_extend_high_u8x16(row.raw),
                                             wasm_i16x8_extend_high_i8x16(weights.raw));
    sums = hn::Add(sums, IntVector{wasm_i32x4_shuffle(first, second, 0, 2, 4, 6)});
    return hn::Add(sums, IntVector{wasm_i32x4_shuffle(first, second, 1, 3, 5, 7)});
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

// Instructions that only some processors with AVX-512 or AVX2 have (InstructionSet), spelled out,
// because this code is compiled for all of them.
#if HWY_TARGET == HWY_AVX2
struct DotInt8Product {
  using Tag = IntTag;
  static constexpr int kTileRows = kMaxTileRows;
  static HWY_INLINE IntVector Add(IntVector row, IntVector weights, IntVector sums) {
    asm("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sums.raw) : "x"(row.raw), "x"(weights.raw));
    return sums;
  }
};
#elif HWY_TARGET == HWY_AVX3
struct DotInt8Product {
  using Tag = IntTag;
  static constexpr int kTileRows = kMaxTileRows;
  static HWY_INLINE IntVector Add(IntVector row, IntVector weights, IntVector sums) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sums.raw) : "v"(row.raw), "v"(weights.raw));
    return sums;
  }
};
struct DotBfloat16Product {
  using Tag = FloatTag;
  static constexpr int kTileRows = kMaxTileRows;
  static HWY_INLINE FloatVector Add(IntVector row, IntVector weights, FloatVector sums) {
    asm("vdpbf16ps %2, %1, %0" : "+v"(sums.raw) : "v"(row.raw), "v"(weights.raw));
    return sums;
  }
};
#endif

// The groups of a tile's rows, one after the other.
template <int kRows>
class RowGroups {
 public:
  explicit RowGroups(const RowBytes& x) : stride_(x.stride) {
#pragma GCC unroll 16
    for (int p = 0; p < kPointers; ++p) rows_[p] = x.row(3 * p);
  }

  // Adds the next group of each row.
  template <class Product, class Sums>
  HWY_INLINE void AddNext(IntVector first, IntVector second, Sums (&tile)[kRows][2]) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const IntVector row = RepeatGroup(rows_[r / 3] + r % 3 * stride_);
      tile[r][0] = Product::Add(row, first, tile[r][0]);
      tile[r][1] = Product::Add(row, second, tile[r][1]);
    }
#pragma GCC unroll 16
    for (int p = 0; p < kPointers; ++p) rows_[p] += kGroupBytes;
  }

 private:
  // A row in three needs a pointer, the others are one or two strides away.
  static constexpr int kPointers = (kRows + 2) / 3;
  const uint8_t* rows_[kPointers];
  int64_t stride_;
};

// Adds all groups of the rows to a pair of vectors of outputs.
template <class Product, int kRows, Fetch kFetch, class Sums>
HWY_INLINE void AddGroups(const RowBytes& x, const uint8_t* weights, int64_t num_groups,
                          const uint8_t* next_panel, Sums (&tile)[kRows][2]) {
  constexpr int64_t kLanes = HWY_LANES(float);
  RowGroups<kRows> rows(x);
  for (int64_t group = 0; group < num_groups; ++group) {
    const WeightPair pair = LoadWeights(weights);
    if constexpr (kFetch == Fetch::kAhead) {
      __builtin_prefetch(weights + kBytesAhead, 0, 2);
      if constexpr (kLanes == 16) __builtin_prefetch(weights + kBytesAhead + 64, 0, 2);
    } else if constexpr (kFetch == Fetch::kNextPanel) {
      __builtin_prefetch(next_panel, 0, 2);
      next_panel += kNextPanelStep;
    }
    rows.template AddNext<Product>(pair.first, pair.second, tile);
    weights += kPanelGroupBytes;
  }
}

// The same with a panel of four-bit weights. num_groups: a multiple of 8.
template <class Product, int kRows, class Sums>
HWY_INLINE void AddFourBitGroups(const RowBytes& x, const uint8_t* panel, int64_t num_groups,
                                 int64_t output, Sums (&tile)[kRows][2]) {
  constexpr int64_t kLanes = HWY_LANES(float);
  RowGroups<kRows> rows(x);
  for (int64_t group = 0; group < num_groups; group += 2 * kFourBitPairs) {
    const FourBitScales first(panel, output);
    const FourBitScales second(panel, output + kLanes);
    const uint8_t* values = panel + kFourBitScaleBytes + kGroupBytes * output;
    for (int64_t pair = 0; pair < kFourBitPairs; ++pair) {
      __builtin_prefetch(values + kBytesAhead, 0, 2);
      if constexpr (kLanes == 16) __builtin_prefetch(values + kBytesAhead + 64, 0, 2);
      const WeightPair bytes = LoadWeights(values);
      rows.template AddNext<Product>(first.template Expand<0>(bytes.first),
                                     second.template Expand<0>(bytes.second), tile);
      rows.template AddNext<Product>(first.template Expand<1>(bytes.first),
                                     second.template Expand<1>(bytes.second), tile);
      values += kPanelGroupBytes;
    }
    panel += kFourBitBlockBytes;
  }
}
#endif  // HWY_TARGET == HWY_NEON

// A product with weights of four bits, which are expanded to those of `Product`.
template <class Product>
struct FourBitProduct : Product {
  static constexpr int kTileRows = std::min(Product::kTileRows, kSmallTileRows);
};
template <class Product>
constexpr bool kHasFourBits = false;
template <class Product>
constexpr bool kHasFourBits<FourBitProduct<Product>> = true;

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_PRODUCTS_INL_H_
