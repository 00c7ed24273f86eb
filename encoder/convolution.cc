#include "encoder/convolution.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/glu.h>
#include <ATen/ops/zeros.h>

#include <algorithm>

#include "encoder/activation.h"

namespace runnel {

Convolution::Convolution(Weights* weights, const std::string& name, int64_t dim,
                         const ConvolutionConfig& config)
    : left_frames_(config.left_frames()),
      right_frames_(config.right_frames()),
      pointwise_conv1_(Linear::Pointwise(weights, name + ".pointwise_conv1", dim, 2 * dim,
                                         Linear::BiasIf(config.bias))),
      depthwise_(TakeDepthwiseFilter(weights, name, dim, config)),
      activation_(config.activation),
      pointwise_conv2_(Linear::Pointwise(weights, name + ".pointwise_conv2", dim, dim,
                                         Linear::BiasIf(config.bias))) {
  const at::Tensor silence = at::zeros({1, dim}, weights->options());
  initial_frame_ = config.gated_padding ? at::glu(pointwise_conv1_.Forward(silence), 1) : silence;
  if (config.norm == ConvolutionNorm::kLayerNorm) {
    norm_.emplace(weights, name + ".norm", dim, config.norm_epsilon);
  }
}

FrameBuffer Convolution::InitialCache() const {
  FrameBuffer cache(depthwise_.weight.size(1), depthwise_.weight.options());
  cache.Append(initial_frame_.expand({left_frames_, -1}));
  return cache;
}

at::Tensor Convolution::Forward(const at::Tensor& x, const LayerBatch& batch) const {
  const at::Tensor gated = at::glu(pointwise_conv1_.Forward(x), 1);
  at::Tensor filtered = at::empty_like(gated);
  for (const LayerSegment& segment : batch) {
    FrameBuffer& cache = segment.state->cnn_cache;
    cache.Append(gated.narrow(0, segment.first_row, segment.num_rows));
    const at::Tensor frames = cache.Rows();
    const int64_t chunk_size =
        segment.mask && right_frames_ > 0 ? segment.mask->chunk_size : segment.num_rows;
    for (int64_t first = 0; first < segment.num_rows; first += chunk_size) {
      const int64_t rows = std::min(chunk_size, segment.num_rows - first);
      filtered.narrow(0, segment.first_row + first, rows)
          .copy_(Depthwise(frames.narrow(0, first, left_frames_ + rows)));
    }
    cache.KeepLast(left_frames_);
  }
  if (norm_) filtered = norm_->Forward(filtered);
  return pointwise_conv2_.Forward(Activate(activation_, filtered));
}

at::Tensor Convolution::Depthwise(const at::Tensor& gated) const {
  const int64_t frames = gated.size(0) - left_frames_;
  // One multiply-add per tap over all frames: every frame is summed in the same order, whatever the
  // length of the chunk. Taps beyond the chunk's end meet zeros, which are left out.
  at::Tensor sum = depthwise_.bias.expand({frames, -1}).clone();
  for (int64_t tap = 0; tap < depthwise_.weight.size(0); ++tap) {
    const int64_t beyond = std::max<int64_t>(0, tap - left_frames_);
    if (beyond >= frames) break;
    sum.narrow(0, 0, frames - beyond)
        .addcmul_(gated.narrow(0, tap, frames - beyond), depthwise_.weight.select(0, tap));
  }
  return sum;
}

}  // namespace runnel
