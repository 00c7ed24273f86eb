// Shared parts of the vectorised operations: loops over the values of a row, activations, and
// storing a row in the form that the next matmul reads. Included once per instruction set
// (Highway).

#include "encoder/cpu/kernels/exponential-inl.h"
#include "hwy/highway.h"

#if defined(RUNNEL_ENCODER_CPU_KERNELS_ROW_KERNELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNNEL_ENCODER_CPU_KERNELS_ROW_KERNELS_INL_H_
#undef RUNNEL_ENCODER_CPU_KERNELS_ROW_KERNELS_INL_H_
#else
#define RUNNEL_ENCODER_CPU_KERNELS_ROW_KERNELS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include "encoder/activation.h"
#include "encoder/cpu/kernels/instruction_set.h"
#include "encoder/cpu/kernels/matmul_input.h"

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::ScalableTag<int32_t>;
using FloatVector = hn::Vec<FloatTag>;
using FloatMask = hn::Mask<FloatTag>;

// Access to a whole vector of a row, or to the rest at its end.
struct WholeVector {
  HWY_INLINE FloatVector Load(const float* from) const { return hn::LoadU(FloatTag(), from); }
  HWY_INLINE void Store(FloatVector v, float* to) const { hn::StoreU(v, FloatTag(), to); }
  // `v`, where lanes exist; elsewhere `other`.
  HWY_INLINE FloatVector OrElse(FloatVector v, FloatVector) const { return v; }
};

struct RestOfRow {
  int64_t num_left;
  HWY_INLINE FloatMask mask() const {
    return hn::FirstN(FloatTag(), static_cast<size_t>(num_left));
  }
  // Without AVX a masked access of Highway touches the whole vector, aligned.
  HWY_INLINE FloatVector Load(const float* from) const {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    return hn::MaskedLoad(mask(), FloatTag(), from);
#else
    HWY_ALIGN float values[HWY_LANES(float)] = {};
    for (int64_t i = 0; i < num_left; ++i) values[i] = from[i];
    return hn::Load(FloatTag(), values);
#endif
  }
  HWY_INLINE void Store(FloatVector v, float* to) const {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    hn::BlendedStore(v, mask(), FloatTag(), to);
#else
    HWY_ALIGN float values[HWY_LANES(float)];
    hn::Store(v, FloatTag(), values);
    for (int64_t i = 0; i < num_left; ++i) to[i] = values[i];
#endif
  }
  HWY_INLINE FloatVector OrElse(FloatVector v, FloatVector other) const {
    return hn::IfThenElse(mask(), v, other);
  }
};

// Calls body(offset, WholeVector or RestOfRow) for a row of `count` values.
template <class Body>
HWY_INLINE void ForEachVector(int64_t count, const Body& body) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) body(i, WholeVector());
  if (i < count) body(i, RestOfRow{count - i});
}

// Abramowitz and Stegun 1964, 7.1.26: within 1.5e-7.
HWY_INLINE FloatVector Erf(FloatVector x) {
  const FloatTag d;
  const FloatVector one = hn::Set(d, 1.0f);
  const FloatVector size = hn::Abs(x);
  const FloatVector t = hn::Div(one, hn::MulAdd(hn::Set(d, 0.3275911f), size, one));
  FloatVector sum = hn::Set(d, 1.061405429f);
  sum = hn::MulAdd(sum, t, hn::Set(d, -1.453152027f));
  sum = hn::MulAdd(sum, t, hn::Set(d, 1.421413741f));
  sum = hn::MulAdd(sum, t, hn::Set(d, -0.284496736f));
  sum = hn::MulAdd(sum, t, hn::Set(d, 0.254829592f));
  const FloatVector tail = Exp(hn::Neg(hn::Mul(size, size)));
  return hn::CopySign(hn::NegMulAdd(hn::Mul(sum, t), tail, one), x);
}

struct NoActivation {
  HWY_INLINE FloatVector operator()(FloatVector x) const { return x; }
};
struct Swish {
  HWY_INLINE FloatVector operator()(FloatVector x) const { return hn::Mul(x, Sigmoid(x)); }
};
struct Relu {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return AtLeast(hn::Zero(FloatTag()), x);
  }
};
struct Gelu {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    const FloatTag d;
    const FloatVector half = hn::Mul(x, hn::Set(d, 0.5f));
    return hn::MulAdd(half, Erf(hn::Mul(x, hn::Set(d, 0.70710678f))), half);
  }
};

// With e = exp(-2 |x|): (1 - e) / (1 + e), with the sign of x. Near 0 it is within 1e-7.
struct Tanh {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    const FloatTag d;
    const FloatVector one = hn::Set(d, 1.0f);
    const FloatVector e = Exp(hn::Mul(hn::Set(d, -2.0f), hn::Abs(x)));
    return hn::CopySign(hn::Div(hn::Sub(one, e), hn::Add(one, e)), x);
  }
};

struct DoubleSwish {
  HWY_INLINE FloatVector operator()(FloatVector x) const {
    return hn::Mul(x, Sigmoid(hn::Sub(x, hn::Set(FloatTag(), 1.0f))));
  }
};

struct Logistic {
  HWY_INLINE FloatVector operator()(FloatVector x) const { return Sigmoid(x); }
};

// Calls body(function) with the function object of an activation.
template <class Body>
HWY_INLINE void WithActivation(const std::optional<Activation>& activation, const Body& body) {
  if (!activation.has_value()) return body(NoActivation());
  switch (*activation) {
    case Activation::kSwish:
      return body(Swish());
    case Activation::kRelu:
      return body(Relu());
    case Activation::kGelu:
      return body(Gelu());
    case Activation::kTanh:
      return body(Tanh());
    case Activation::kSigmoid:
      return body(Logistic());
    case Activation::kDoubleSwish:
      return body(DoubleSwish());
    case Activation::kIdentity:
      return body(NoActivation());
  }
}

HWY_INLINE float SumOf(FloatVector v) {
  const FloatTag d;
  return hn::GetLane(hn::SumOfLanes(d, v));
}
HWY_INLINE float MaxOf(FloatVector v) {
#if HWY_TARGET == HWY_EMU128
  // Highway's begins at the lowest finite number, which minus infinity is below.
  float lanes[HWY_LANES(float)];
  hn::StoreU(v, FloatTag(), lanes);
  return *std::max_element(lanes, lanes + HWY_LANES(float));
#else
  const FloatTag d;
  return hn::GetLane(hn::MaxOfLanes(d, v));
#endif
}
HWY_INLINE float MinOf(FloatVector v) {
  const FloatTag d;
  return hn::GetLane(hn::MinOfLanes(d, v));
}

// Stores the part of a vector that WholeVector or RestOfRow stands for. Rounds to the nearest, ties
// to even.
template <class Part>
HWY_INLINE void StoreBfloat16(const Part& part, FloatVector v, uint16_t* to) {
  const hn::RebindToUnsigned<FloatTag> bits_tag;
  const hn::Rebind<uint16_t, FloatTag> half_tag;
  const auto bits = hn::BitCast(bits_tag, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(bits_tag, 1u));
  const auto sum = hn::Add(bits, hn::Add(odd, hn::Set(bits_tag, 0x7FFFu)));
  const auto rounded = hn::DemoteTo(half_tag, hn::BitCast(IntTag(), hn::ShiftRight<16>(sum)));
  if constexpr (std::is_same_v<Part, WholeVector>) {
    hn::StoreU(rounded, half_tag, to);
  } else {
    HWY_ALIGN uint16_t rest[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(rounded, half_tag, rest);
    for (int64_t k = 0; k < part.num_left; ++k) to[k] = rest[k];
  }
}

// row: `count` values, aligned memory not needed.
HWY_INLINE void ToBfloat16(const float* row, int64_t count, uint16_t* to) {
  ForEachVector(count, [&](int64_t i, auto part)
                           HWY_ATTR { StoreBfloat16(part, part.Load(row + i), to + i); });
}

HWY_INLINE void FromBfloat16(const uint16_t* row, int64_t count, float* to) {
  const hn::Rebind<uint16_t, FloatTag> half_tag;
  const hn::RebindToUnsigned<FloatTag> bits_tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(FloatTag()));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto bits = hn::PromoteTo(bits_tag, hn::LoadU(half_tag, row + i));
    hn::StoreU(hn::BitCast(FloatTag(), hn::ShiftLeft<16>(bits)), FloatTag(), to + i);
  }
  for (; i < count; ++i) {
    const uint32_t bits = static_cast<uint32_t>(row[i]) << 16;
    std::memcpy(&to[i], &bits, sizeof(bits));
  }
}

// How a row is quantised. Zero is represented exactly.
struct RowRange {
  float scale;
  int32_t zero_point;
};

// The smallest and largest value of a row, and zero.
struct Extremes {
  float low = 0.0f;
  float high = 0.0f;
  bool finite = true;  // all of the row's values are

  void Include(const Extremes& other) {
    low = std::min(low, other.low);
    high = std::max(high, other.high);
    finite = finite && other.finite;
  }
};

// The same while vectors of the row pass by.
struct ExtremesOfVectors {
  FloatVector lows;
  FloatVector highs;
  FloatVector zeros;  // x * 0, summed: NaN when an x is not finite

  HWY_INLINE ExtremesOfVectors()
      : lows(hn::Zero(FloatTag())), highs(hn::Zero(FloatTag())), zeros(hn::Zero(FloatTag())) {}

  HWY_INLINE void Include(FloatVector v) {
    lows = hn::Min(lows, v);
    highs = hn::Max(highs, v);
    zeros = hn::MulAdd(v, hn::Zero(FloatTag()), zeros);
  }
  HWY_INLINE void Include(const ExtremesOfVectors& other) {
    lows = hn::Min(lows, other.lows);
    highs = hn::Max(highs, other.highs);
    zeros = hn::Add(zeros, other.zeros);
  }
  HWY_INLINE Extremes Result() const { return {MinOf(lows), MaxOf(highs), SumOf(zeros) == 0.0f}; }
};

// A row that is not finite gets a NaN scale. Its results are NaN too, which the search reports.
HWY_INLINE RowRange RangeFor(const Extremes& extremes) {
  if (!extremes.finite) return {std::numeric_limits<float>::quiet_NaN(), 0};
  const auto steps = static_cast<float>(UsedInstructionSet().quantized_steps);
  const float scale = (extremes.high - extremes.low) / steps;
  if (!(scale > 0.0f)) return {1.0f, 0};  // all zeros
  return {scale, static_cast<int32_t>(std::nearbyintf(-extremes.low / scale)) +
                     std::numeric_limits<QuantizedValue>::lowest()};
}

HWY_INLINE void Quantize(const float* row, int64_t count, RowRange range, QuantizedValue* to) {
  const FloatTag d;
  const hn::Rebind<QuantizedValue, FloatTag> byte_tag;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const FloatVector inverse = hn::Set(d, 1.0f / range.scale);
  const FloatVector shift = hn::Set(d, kRoundingShift + static_cast<float>(range.zero_point));
  const auto zero = hn::BitCast(IntTag(), hn::Set(d, kRoundingShift));
  const auto round = [&](FloatVector v) HWY_ATTR {
    const auto bits = hn::BitCast(IntTag(), hn::MulAdd(v, inverse, shift));
    return hn::Sub(bits, zero);
  };
  const auto to_bytes = [&](hn::Vec<IntTag> v)
                            HWY_ATTR { return hn::DemoteTo(byte_tag, v); };  // saturates
  int64_t i = 0;
#if HWY_TARGET == HWY_AVX3
  // 64 bytes at once. The instructions interleave parts of 16 bytes.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (; i + 4 * lanes <= count; i += 4 * lanes) {
    const auto value = [&](int64_t k)
                           HWY_ATTR { return round(hn::LoadU(d, row + i + k * lanes)).raw; };
    const __m512i first = _mm512_packs_epi32(value(0), value(1));
    const __m512i second = _mm512_packs_epi32(value(2), value(3));
    const __m512i bytes = _mm512_packus_epi16(first, second);
    _mm512_storeu_si512(to + i, _mm512_permutexvar_epi32(order, bytes));
  }
#endif
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(to_bytes(round(hn::LoadU(d, row + i))), byte_tag, to + i);
  }
  if (i < count) {
    HWY_ALIGN QuantizedValue rest[HWY_MAX_BYTES / sizeof(float)];
    hn::Store(to_bytes(round(RestOfRow{count - i}.Load(row + i))), byte_tag, rest);
    for (int64_t k = 0; i + k < count; ++k) to[i + k] = rest[k];
  }
}

HWY_INLINE Extremes ExtremesOf(const float* row, int64_t count) {
  // Four at a time, because each waits for its own last result.
  ExtremesOfVectors parts[4];
  constexpr int64_t kLanes = HWY_LANES(float);
  int64_t i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
#pragma GCC unroll 4
    for (int64_t part = 0; part < 4; ++part) {
      parts[part].Include(WholeVector().Load(row + i + part * kLanes));
    }
  }
  // Lanes beyond the row are zero, and zero is in the range.
  ForEachVector(count - i,
                [&](int64_t k, auto part) HWY_ATTR { parts[0].Include(part.Load(row + i + k)); });
  parts[0].Include(parts[1]);
  parts[2].Include(parts[3]);
  parts[0].Include(parts[2]);
  return parts[0].Result();
}

HWY_INLINE void StoreQuantizedRow(const float* row, RowRange range, const MatmulInput& to,
                                  int64_t index) {
  to.scales[index] = range.scale;
  to.zero_points[index] = range.zero_point;
  Quantize(row, to.dim, range, to.quantized_row(index));
}

// Stores a float row as row `index` of `to`. For kFloat32 the row may be that row already.
HWY_INLINE void StoreRow(const float* row, const MatmulInput& to, int64_t index) {
  switch (to.type) {
    case MatmulType::kFloat32:
      if (row != to.float_row(index)) {
        std::memcpy(to.float_row(index), row, static_cast<size_t>(to.dim) * sizeof(float));
      }
      break;
    case MatmulType::kBfloat16:
      ToBfloat16(row, to.dim, to.bfloat16_row(index));
      break;
    case MatmulType::kInt8:
      StoreQuantizedRow(row, RangeFor(ExtremesOf(row, to.dim)), to, index);
      break;
  }
}

// Where to compute row `index` of `to` in float32 before StoreRow: in place when it stays so.
HWY_INLINE float* RowToCompute(const MatmulInput& to, int64_t index, float* temporary) {
  return to.type == MatmulType::kFloat32 ? to.float_row(index) : temporary;
}

// y = (x - mean) / deviation * weight + bias over `count` values; y may be x.
HWY_INLINE void NormalizeRow(const float* x, int64_t count, const float* weight, const float* bias,
                             float epsilon, float* y) {
  const FloatTag d;
  FloatVector sums = hn::Zero(d);
  ForEachVector(count,
                [&](int64_t i, auto part) HWY_ATTR { sums = hn::Add(sums, part.Load(x + i)); });
  const FloatVector mean = hn::Set(d, SumOf(sums) / static_cast<float>(count));
  FloatVector squares = hn::Zero(d);
  ForEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVector centred = part.OrElse(hn::Sub(part.Load(x + i), mean), hn::Zero(d));
    squares = hn::MulAdd(centred, centred, squares);
  });
  const float variance = SumOf(squares) / static_cast<float>(count);
  const FloatVector scale = hn::Set(d, 1.0f / std::sqrt(variance + epsilon));
  ForEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVector normal = hn::Mul(hn::Sub(part.Load(x + i), mean), scale);
    part.Store(hn::MulAdd(normal, part.Load(weight + i), part.Load(bias + i)), y + i);
  });
}

// x / sqrt(mean of x^2 + epsilon) over `count` values; y may be x.
HWY_INLINE void NormalizeRowByMagnitude(const float* x, int64_t count, float epsilon, float* y) {
  const FloatTag d;
  FloatVector squares = hn::Zero(d);
  ForEachVector(count, [&](int64_t i, auto part) HWY_ATTR {
    const FloatVector value = part.Load(x + i);
    squares = hn::MulAdd(value, value, squares);
  });
  const float mean = SumOf(squares) / static_cast<float>(count);
  const FloatVector scale = hn::Set(d, 1.0f / std::sqrt(mean + epsilon));
  ForEachVector(count, [&](int64_t i, auto part)
                           HWY_ATTR { part.Store(hn::Mul(part.Load(x + i), scale), y + i); });
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_ROW_KERNELS_INL_H_
