#include "encoder/fast/fast_convolution.h"

#include <algorithm>

#include "encoder/depthwise_filter.h"

namespace runnel {
namespace {

kernels::PackedLinear TakePointwise(Weights* weights, const std::string& name, int64_t input_dim,
                                    int64_t output_dim, bool bias, const FastOptions& options,
                                    kernels::ProductResult result) {
  return Pack(weights->Take(name + ".weight", {output_dim, input_dim, 1}),
              bias ? weights->Take(name + ".bias", {output_dim}) : at::Tensor(), options, result);
}

}  // namespace

FastConvolution::FastConvolution(Weights* weights, const std::string& name, int64_t dim,
                                 const ConvolutionConfig& config, const FastOptions& options)
    : options_(options),
      dim_(dim),
      left_frames_(config.left_frames()),
      right_frames_(config.right_frames()),
      kernel_size_(config.kernel_size),
      activation_(config.activation),
      pointwise_conv1_(TakePointwise(weights, name + ".pointwise_conv1", dim, 2 * dim, config.bias,
                                     options, kernels::ProductResult::kStore)),
      initial_frame_(static_cast<size_t>(dim), 0.0f),
      pointwise_conv2_(TakePointwise(weights, name + ".pointwise_conv2", dim, dim, config.bias,
                                     options, kernels::ProductResult::kAdd)) {
  const DepthwiseFilter filter = TakeDepthwiseFilter(weights, name, dim, config);
  taps_ = ValuesOf(filter.weight);
  bias_ = ValuesOf(filter.bias);
  if (config.norm == ConvolutionNorm::kLayerNorm) {
    norm_.emplace(weights, name + ".norm", dim, config.norm_epsilon);
  }
  if (config.gated_padding) {
    kernels::Scratch scratch;
    const FastRows silence{initial_frame_.data(), 1, dim};
    auto* values = scratch.Take<float>(2 * dim);
    pointwise_conv1_.Forward(NormedInput(silence, 0, 1, nullptr, options.precision, &scratch), 1,
                             values);
    kernels::Glu(values, 1, dim, initial_frame_.data());
  }
}

RowRing FastConvolution::InitialCache() const {
  RowRing cache(dim_, RowRing::Storage::kFloat32);
  cache.Append(initial_frame_.data(), 0, left_frames_, left_frames_);
  return cache;
}

kernels::DepthwiseWeights FastConvolution::depthwise() const {
  return {taps_.data(), bias_.data(), kernel_size_,
          norm_ ? std::make_optional(norm_->weights()) : std::nullopt, activation_};
}

void FastConvolution::AddTo(const FastRows& x, const FastLayerNorm* norm,
                            const FastBatch& batch) const {
  kernels::Scratch scratch;
  auto* values = scratch.Take<float>(x.count * 2 * dim_);
  pointwise_conv1_.Forward(NormedInput(x, 0, x.count, norm, options_.precision, &scratch), x.count,
                           values);
  auto* gated = scratch.Take<float>(x.count * dim_);
  kernels::Glu(values, x.count, dim_, gated);
  const kernels::ProductInput filtered =
      kernels::ProductInput::Take(&scratch, options_.precision, x.count, dim_);
  for (const FastSegment& segment : batch) {
    RowRing& cache = segment.state->cnn_cache;
    kernels::Scratch pieces;
    auto** frames = pieces.Take<const float*>(left_frames_ + segment.num_rows);
    cache.Collect(&pieces, frames);
    for (int64_t i = 0; i < segment.num_rows; ++i) {
      frames[left_frames_ + i] = gated + (segment.first_row + i) * dim_;
    }
    // Frames after a chunk's end count as zero for a kernel that reads ahead.
    const int64_t chunk_size =
        segment.mask && right_frames_ > 0 ? segment.mask->chunk_size : segment.num_rows;
    for (int64_t first = 0; first < segment.num_rows; first += chunk_size) {
      const int64_t rows = std::min(chunk_size, segment.num_rows - first);
      kernels::DepthwiseConvolution(frames + first, left_frames_ + rows, rows, depthwise(),
                                    filtered, segment.first_row + first);
    }
    cache.Append(gated + segment.first_row * dim_, dim_, segment.num_rows, left_frames_);
  }
  pointwise_conv2_.Forward(filtered, x.count, x.values);
}

}  // namespace runnel
