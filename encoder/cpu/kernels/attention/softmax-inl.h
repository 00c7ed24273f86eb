// Softmax of one row of scores, without its division. Included once per instruction set (Highway).

#include "encoder/cpu/kernels/attention/register_tile-inl.h"
#include "encoder/cpu/kernels/exponential-inl.h"
#include "hwy/highway.h"

#if defined(RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_SOFTMAX_INL_H_
#undef RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_SOFTMAX_INL_H_
#else
#define RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_SOFTMAX_INL_H_
#endif

#include <cstdint>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using tile::NumLanes;
using tile::Tag;
using tile::Vector;

// scores = e^(score - maximum) of the scores (scores + added) * scale. `added` may be null. Returns
// the sum, whose order begins at the first key. Lanes beyond the last key count as nothing; they
// are written.
HWY_INLINE float Exponentiate(const float* added, float scale, int64_t num_keys, float* scores) {
  const Tag d;
  const int64_t lanes = NumLanes();
  const Vector scales = hn::Set(d, scale);
  const Vector lowest = hn::Set(d, std::numeric_limits<float>::lowest());
  const int64_t whole = num_keys / lanes * lanes;
  const auto last = hn::FirstN(d, static_cast<size_t>(num_keys - whole));
  Vector highs = lowest;
  const auto finish = [&](int64_t key) HWY_ATTR {
    Vector sum = hn::LoadU(d, scores + key);
    if (added != nullptr) sum = hn::Add(sum, hn::LoadU(d, added + key));
    return hn::Mul(sum, scales);
  };
  for (int64_t key = 0; key < whole; key += lanes) {
    const Vector score = finish(key);
    hn::StoreU(score, d, scores + key);
    highs = hn::Max(highs, score);
  }
  if (whole < num_keys) {
    const Vector score = hn::IfThenElse(last, finish(whole), lowest);
    hn::StoreU(score, d, scores + whole);
    highs = hn::Max(highs, score);
  }
  const Vector high = hn::MaxOfLanes(d, highs);
  Vector sums = hn::Zero(d);
  for (int64_t key = 0; key < whole; key += lanes) {
    const Vector e = Exp(hn::Sub(hn::LoadU(d, scores + key), high));
    hn::StoreU(e, d, scores + key);
    sums = hn::Add(sums, e);
  }
  if (whole < num_keys) {
    const Vector e = Exp(hn::Sub(hn::LoadU(d, scores + whole), high));
    sums = hn::Add(sums, hn::IfThenElseZero(last, e));
    hn::StoreU(e, d, scores + whole);
  }
  return hn::GetLane(hn::SumOfLanes(d, sums));
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#endif  // RUNNEL_ENCODER_CPU_KERNELS_ATTENTION_SOFTMAX_INL_H_
