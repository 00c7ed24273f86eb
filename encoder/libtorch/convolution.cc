#include "encoder/libtorch/convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/glu.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "encoder/libtorch/dense.h"
#include "encoder/libtorch/tensor_rows.h"

namespace runnel::libtorch {

Convolution::Convolution(const ConvolutionWeights& weights, const LayerNormWeights* norm,
                         const ConvolutionConfig& config)
    : TensorModule(norm), weights_(weights), config_(config) {
  const at::Tensor silence = at::zeros({1, weights.bias.size(0)}, View(weights.bias).options());
  initial_frame_ =
      config.gated_padding ? at::glu(Linear(weights.pointwise_1, silence), 1) : silence;
}

void Convolution::Initialize(LayerState* state) const {
  Append(initial_frame_.expand({config_.left_frames(), -1}), config_.left_frames(),
         &state->cnn_cache);
}

at::Tensor Convolution::Forward(const at::Tensor& x, const std::vector<Segment>& segments) const {
  const int64_t left_frames = config_.left_frames();
  const at::Tensor gated = at::glu(Linear(weights_.pointwise_1, x), 1);
  at::Tensor filtered = at::empty_like(gated);
  for (const Segment& segment : segments) {
    RowRing& cache = segment.state->cnn_cache;
    const int64_t num_rows = segment.num_rows();
    const at::Tensor new_frames = gated.narrow(0, segment.first_row, num_rows);
    const at::Tensor frames = at::cat({Copy(cache), new_frames});
    const int64_t chunk_size = config_.right_frames() > 0 ? segment.chunk_size : num_rows;
    for (int64_t first = 0; first < num_rows; first += chunk_size) {
      const int64_t rows = std::min(chunk_size, num_rows - first);
      filtered.narrow(0, segment.first_row + first, rows)
          .copy_(Depthwise(frames.narrow(0, first, left_frames + rows)));
    }
    Append(new_frames, left_frames, &cache);
  }
  if (weights_.norm) filtered = LayerNorm(*weights_.norm, filtered);
  return Linear(weights_.pointwise_2, Activate(config_.activation, filtered));
}

at::Tensor Convolution::Depthwise(const at::Tensor& gated) const {
  const int64_t left_frames = config_.left_frames();
  const int64_t frames = gated.size(0) - left_frames;
  // One multiply-add per tap over all frames: every frame is summed in the same order, whatever the
  // length of the chunk. Taps beyond the chunk's end meet zeros, which are left out.
  at::Tensor sum = View(weights_.bias).expand({frames, -1}).clone();
  const at::Tensor taps = View(weights_.taps);
  for (int64_t tap = 0; tap < taps.size(0); ++tap) {
    const int64_t beyond = std::max<int64_t>(0, tap - left_frames);
    if (beyond >= frames) break;
    sum.narrow(0, 0, frames - beyond)
        .addcmul_(gated.narrow(0, tap, frames - beyond), taps.select(0, tap));
  }
  return sum;
}

}  // namespace runnel::libtorch
