#include "encoder/cpu/kernels/attention/position_kernels.h"

#include "encoder/cpu/kernels/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "encoder/cpu/kernels/attention/position_kernels.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// The next ones are compiled once per instruction set.
#include "encoder/cpu/kernels/attention/register_tile-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using tile::Tag;
using tile::Vector;

void AddAnglesOf(const float* a, const float* b, int64_t count, float* sum) {
  ForEachVector(count, [&](int64_t i, const auto& access) HWY_ATTR {
    const Vector sin_a = access.Load(a + i);
    const Vector cos_a = access.Load(a + count + i);
    const Vector sin_b = access.Load(b + i);
    const Vector cos_b = access.Load(b + count + i);
    access.Store(hn::MulAdd(sin_a, cos_b, hn::Mul(cos_a, sin_b)), sum + i);
    access.Store(hn::NegMulAdd(sin_a, sin_b, hn::Mul(cos_a, cos_b)), sum + count + i);
  });
}

void RotateHeadsOf(const float* sinusoids, int64_t num_heads, int64_t head_dim, float* row) {
  const int64_t count = head_dim / 2;
  for (int64_t head = 0; head < num_heads; ++head, row += head_dim) {
    ForEachVector(count, [&](int64_t i, const auto& access) HWY_ATTR {
      const Vector sine = access.Load(sinusoids + i);
      const Vector cosine = access.Load(sinusoids + count + i);
      const Vector first = access.Load(row + i);
      const Vector second = access.Load(row + count + i);
      access.Store(hn::NegMulAdd(second, sine, hn::Mul(first, cosine)), row + i);
      access.Store(hn::MulAdd(first, sine, hn::Mul(second, cosine)), row + count + i);
    });
  }
}

void FoldPositionRows(const QueryBiases& biases, const float* positions, int64_t rows, float* keys,
                      int64_t key_stride, float* key_biases) {
  const Tag d;
  const int64_t width = biases.num_heads * biases.head_dim;
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t head = 0; head < biases.num_heads; ++head) {
      const int64_t offset = head * biases.head_dim;
      float* key = keys + r * key_stride + offset;
      const float* position = positions + r * width + offset;
      Vector sums = hn::Zero(d);
      ForEachVector(biases.head_dim, [&](int64_t i, const auto& access) HWY_ATTR {
        const Vector k = access.Load(key + i);
        const Vector p = access.Load(position + i);
        if (biases.content != nullptr) {
          sums = hn::MulAdd(access.Load(biases.content + offset + i), k, sums);
        }
        if (biases.position != nullptr) {
          sums = hn::MulAdd(access.Load(biases.position + offset + i), p, sums);
        }
        access.Store(hn::Add(k, p), key + i);
      });
      key_biases[r * biases.num_heads + head] = hn::GetLane(hn::SumOfLanes(d, sums));
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace runnel::kernels {

RUNNEL_EXPORT(AddAnglesOf);
RUNNEL_EXPORT(FoldPositionRows);
RUNNEL_EXPORT(RotateHeadsOf);

void AddAngles(const float* a, const float* b, int64_t count, float* sum) {
  RUNNEL_DISPATCH(AddAnglesOf)(a, b, count, sum);
}
void FoldPositions(const QueryBiases& biases, const float* positions, int64_t rows, float* keys,
                   int64_t key_stride, float* key_biases) {
  RUNNEL_DISPATCH(FoldPositionRows)(biases, positions, rows, keys, key_stride, key_biases);
}
void RotateHeads(const float* sinusoids, int64_t num_heads, int64_t head_dim, float* row) {
  RUNNEL_DISPATCH(RotateHeadsOf)(sinusoids, num_heads, head_dim, row);
}

}  // namespace runnel::kernels
#endif  // HWY_ONCE
