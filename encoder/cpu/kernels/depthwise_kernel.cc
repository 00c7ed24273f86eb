#include "encoder/cpu/kernels/depthwise_kernel.h"

#include <algorithm>

#include "encoder/cpu/kernels/dispatch.h"
#include "encoder/cpu/kernels/step_threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "encoder/cpu/kernels/depthwise_kernel.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// The next ones are compiled once per instruction set.
#include "encoder/cpu/kernels/row_kernels-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace runnel::kernels {
namespace HWY_NAMESPACE {

// Outputs that are computed together: each tap is loaded once for all of them, and their sums do
// not wait for each other.
constexpr int64_t kTogether = 4;

// rows[r] = bias + the taps times frames[r], frames[r + 1], ..., for kRows outputs.
template <int64_t kRows, class Activation>
HWY_INLINE void Convolve(const float* const* frames, int64_t num_taps,
                         const DepthwiseWeights& weights, int64_t dim, const Activation& activation,
                         float* const* rows) {
  ForEachVector(dim, [&](int64_t c, auto part) HWY_ATTR {
    FloatVector sums[kRows];
    for (FloatVector& sum : sums) sum = part.Load(weights.bias + c);
    for (int64_t tap = 0; tap < num_taps; ++tap) {
      const FloatVector factor = part.Load(weights.taps + tap * dim + c);
#pragma GCC unroll 4
      for (int64_t r = 0; r < kRows; ++r) {
        sums[r] = hn::MulAdd(part.Load(frames[tap + r] + c), factor, sums[r]);
      }
    }
#pragma GCC unroll 4
    for (int64_t r = 0; r < kRows; ++r) {
      part.Store(weights.norm ? sums[r] : activation(sums[r]), rows[r] + c);
    }
  });
}

void DepthwiseRows(const float* const* frames, int64_t num_frames, int64_t num_outputs,
                   const DepthwiseWeights& weights, const MatmulInput& y, int64_t first) {
  const int64_t dim = y.dim;
  Scratch scratch;
  auto* temporary = scratch.Take<float>(kTogether * dim);
  WithActivation(weights.activation, [&](auto activation) HWY_ATTR {
    for (int64_t i = 0; i < num_outputs;) {
      // Those that read the same number of frames.
      const bool together =
          i + kTogether <= num_outputs && i + kTogether - 1 + weights.kernel_size <= num_frames;
      const int64_t count = together ? kTogether : 1;
      float* rows[kTogether];
      for (int64_t r = 0; r < count; ++r) {
        rows[r] = RowToCompute(y, first + i + r, temporary + r * dim);
      }
      if (together) {
        Convolve<kTogether>(frames + i, weights.kernel_size, weights, dim, activation, rows);
      } else {
        Convolve<1>(frames + i, std::min(weights.kernel_size, num_frames - i), weights, dim,
                    activation, rows);
      }
      for (int64_t r = 0; r < count; ++r) {
        if (weights.norm) {
          NormalizeRow(rows[r], dim, weights.norm->weight, weights.norm->bias,
                       weights.norm->epsilon, rows[r]);
          ForEachVector(dim, [&](int64_t c, auto part) HWY_ATTR {
            part.Store(activation(part.Load(rows[r] + c)), rows[r] + c);
          });
        }
        StoreRow(rows[r], y, first + i + r);
      }
      i += count;
    }
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace runnel::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace runnel::kernels {

RUNNEL_EXPORT(DepthwiseRows);

void DepthwiseConvolution(const float* const* frames, int64_t num_frames, int64_t num_outputs,
                          const DepthwiseWeights& weights, const MatmulInput& y, int64_t first) {
  StepThreads::Split(num_outputs, num_outputs * y.dim * (weights.kernel_size + kOperationsOfValue),
                     [&](int64_t begin, int64_t end) {
                       RUNNEL_DISPATCH(DepthwiseRows)
                       (frames + begin, num_frames - begin, end - begin, weights, y, first + begin);
                     });
}

}  // namespace runnel::kernels
#endif  // HWY_ONCE
