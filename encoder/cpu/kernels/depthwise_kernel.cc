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

void DepthwiseRows(const float* const* frames, int64_t num_frames, int64_t num_outputs,
                   const DepthwiseWeights& weights, const MatmulInput& y, int64_t first) {
  const int64_t dim = y.dim;
  Scratch scratch;
  auto* temporary = scratch.Take<float>(dim);
  WithActivation(weights.activation, [&](auto activation) HWY_ATTR {
    for (int64_t i = 0; i < num_outputs; ++i) {
      float* row = RowToCompute(y, first + i, temporary);
      const int64_t taps = std::min(weights.kernel_size, num_frames - i);
      ForEachVector(dim, [&](int64_t c, auto part) HWY_ATTR {
        FloatVector sum = part.Load(weights.bias + c);
        for (int64_t tap = 0; tap < taps; ++tap) {
          sum = hn::MulAdd(part.Load(frames[i + tap] + c), part.Load(weights.taps + tap * dim + c),
                           sum);
        }
        part.Store(weights.norm ? sum : activation(sum), row + c);
      });
      if (weights.norm) {
        NormalizeRow(row, dim, weights.norm->weight, weights.norm->bias, weights.norm->epsilon,
                     row);
        ForEachVector(dim, [&](int64_t c, auto part)
                               HWY_ATTR { part.Store(activation(part.Load(row + c)), row + c); });
      }
      StoreRow(row, y, first + i);
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
