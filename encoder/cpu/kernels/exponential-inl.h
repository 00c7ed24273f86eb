// exp for softmax and activations. Included once per instruction set (Highway).

#include "hwy/highway.h"

#if defined(RUNNEL_ENCODER_CPU_KERNELS_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNNEL_ENCODER_CPU_KERNELS_EXPONENTIAL_INL_H_
#undef RUNNEL_ENCODER_CPU_KERNELS_EXPONENTIAL_INL_H_
#else
#define RUNNEL_ENCODER_CPU_KERNELS_EXPONENTIAL_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {

// A float32 of this size has no bits for a fraction: adding it rounds to the nearest integer, which
// is then in the lowest bits of the sum.
constexpr float kRoundingShift = 12582912.0f;  // 1.5 * 2^23

// The larger or the smaller of a bound and x, where NaN stays NaN. Minimum and maximum of x86
// return their second operand then; elsewhere Highway's return the number. NEON has others.
template <class V>
HWY_INLINE V AtLeast(V bound, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_NEON
  return V{vmaxq_f32(bound.raw, x.raw)};
#elif HWY_TARGET == HWY_STATIC_TARGET
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#else
  return hn::Max(bound, x);
#endif
}
template <class V>
HWY_INLINE V AtMost(V bound, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET == HWY_NEON
  return V{vminq_f32(bound.raw, x.raw)};
#elif HWY_TARGET == HWY_STATIC_TARGET
  return hn::IfThenElse(hn::Lt(bound, x), bound, x);
#else
  return hn::Min(bound, x);
#endif
}

// e^x with a relative error below 3e-7. x is clamped to -87 .. 88, where e^x is close to the limits
// of float32. NaN stays NaN.
//
// x = n ln 2 + r with |r| <= ln 2 / 2: e^x = 2^n e^r, the power by the exponent's bits, e^r by its
// Taylor polynomial of degree 6.
template <class V>
HWY_INLINE V Exp(V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  constexpr float kExponentBias = 127.0f;
  const auto shift = hn::Set(d, kRoundingShift + kExponentBias);
  const auto finite = AtLeast(hn::Set(d, -87.0f), AtMost(hn::Set(d, 88.0f), x));
  const V shifted = hn::MulAdd(finite, hn::Set(d, 1.44269504f), shift);
  const V whole = hn::Sub(shifted, shift);
  // ln 2 in two parts. The first has so few bits that its product with `whole` is exact.
  V r = hn::NegMulAdd(whole, hn::Set(d, 0.693359375f), finite);
  r = hn::NegMulAdd(whole, hn::Set(d, -2.12194440e-4f), r);
  V sum = hn::Set(d, 1.0f / 720);
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0f / 120));
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0f / 24));
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0f / 6));
  sum = hn::MulAdd(sum, r, hn::Set(d, 0.5f));
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0f));
  sum = hn::MulAdd(sum, r, hn::Set(d, 1.0f));
  return hn::Mul(sum, hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(bits, shifted))));
}

// 1 / (1 + e^-x) with an error below 2e-7. NaN stays NaN.
//
// 2^t for t = -x / ln 2 = n + r with |r| <= 1/2: the power by the exponent's bits, 2^r by a
// polynomial of degree 5 with a relative error of 1e-7.
template <class V>
HWY_INLINE V Sigmoid(V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
  constexpr float kExponentBias = 127.0f;
  const auto shift = hn::Set(d, kRoundingShift + kExponentBias);
  const V t = AtLeast(hn::Set(d, -126.0f),
                      AtMost(hn::Set(d, 126.0f), hn::Mul(x, hn::Set(d, -1.44269504f))));
  const V shifted = hn::Add(t, shift);
  const V r = hn::Sub(t, hn::Sub(shifted, shift));
  V power = hn::Set(d, 1.32764667e-3f);
  power = hn::MulAdd(power, r, hn::Set(d, 9.67554096e-3f));
  power = hn::MulAdd(power, r, hn::Set(d, 5.55071346e-2f));
  power = hn::MulAdd(power, r, hn::Set(d, 2.40221202e-1f));
  power = hn::MulAdd(power, r, hn::Set(d, 6.93146944e-1f));
  power = hn::MulAdd(power, r, hn::Set(d, 1.00000012f));
  const V exponent = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(bits, shifted)));
  const V sum = hn::MulAdd(power, exponent, hn::Set(d, 1.0f));
#if HWY_TARGET == HWY_AVX3
  // Division is slow there. 14 bits, and one step of Newton's method.
  const V estimate = hn::ApproximateReciprocal(sum);
  return hn::Mul(estimate, hn::NegMulAdd(sum, estimate, hn::Set(d, 2.0f)));
#else
  return hn::Div(hn::Set(d, 1.0f), sum);
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_EXPONENTIAL_INL_H_
