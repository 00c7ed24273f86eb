#include "encoder/cpu/convolution.h"

#include <algorithm>

#include "encoder/cpu/cached_rows.h"

namespace runnel::cpu {

Convolution::Convolution(const ConvolutionWeights& weights, const LayerNormWeights* norm,
                         const ConvolutionConfig& config, const Options& options, Packer* packer)
    : options_(options),
      dim_(weights.bias.size(0)),
      left_frames_(config.left_frames()),
      right_frames_(config.right_frames()),
      kernel_size_(config.kernel_size),
      activation_(config.activation),
      norm_(LayerNorm::If(norm)),
      pointwise_1_(
          packer->Pack(weights.pointwise_1, {options.matmul_type, kernels::MatmulOutput::kStore})),
      initial_frame_(static_cast<size_t>(dim_), 0.0f),
      taps_(Float32Values(weights.taps)),
      bias_(Float32Values(weights.bias)),
      pointwise_2_(
          packer->Pack(weights.pointwise_2, {options.matmul_type, kernels::MatmulOutput::kAdd})) {
  if (weights.norm) norm_depthwise_.emplace(*weights.norm);
  if (config.gated_padding) {
    kernels::Scratch scratch;
    const ConstRows silence{DataType::kFloat32, initial_frame_.data(), 1, dim_};
    auto* values = scratch.Take<float>(2 * dim_);
    pointwise_1_.Forward(NormalizedInput(silence, std::nullopt, options.matmul_type, &scratch), 1,
                         values);
    kernels::Glu(values, 1, dim_, initial_frame_.data());
  }
}

void Convolution::Initialize(LayerState* state) const {
  state->cnn_cache.Append(initial_frame_.data(), 0, left_frames_, left_frames_);
}

kernels::DepthwiseWeights Convolution::depthwise() const {
  return {taps_.data(), bias_.data(), kernel_size_,
          norm_depthwise_ ? std::make_optional(norm_depthwise_->weights()) : std::nullopt,
          activation_};
}

void Convolution::AddTo(const std::vector<Segment>& segments, Rows x) const {
  kernels::Scratch scratch;
  auto* values = scratch.Take<float>(x.count * 2 * dim_);
  pointwise_1_.Forward(NormalizedInput(x, norm_, options_.matmul_type, &scratch), x.count, values);
  auto* gated = scratch.Take<float>(x.count * dim_);
  kernels::Glu(values, x.count, dim_, gated);
  const kernels::MatmulInput filtered =
      kernels::MatmulInput::Take(&scratch, options_.matmul_type, x.count, dim_);
  for (const Segment& segment : segments) {
    RowRing& cache = segment.state->cnn_cache;
    const int64_t num_rows = segment.num_rows();
    kernels::Scratch pieces;
    auto** frames = pieces.Take<const float*>(left_frames_ + num_rows);
    CollectRows(cache, &pieces, frames);
    for (int64_t i = 0; i < num_rows; ++i) {
      frames[left_frames_ + i] = gated + (segment.first_row + i) * dim_;
    }
    // A kernel that reads ahead reads zeros after the end of a chunk.
    const int64_t chunk_size = right_frames_ > 0 ? segment.chunk_size : num_rows;
    for (int64_t first = 0; first < num_rows; first += chunk_size) {
      const int64_t rows = std::min(chunk_size, num_rows - first);
      kernels::DepthwiseConvolution(frames + first, left_frames_ + rows, rows, depthwise(),
                                    filtered, segment.first_row + first);
    }
    AppendRows(gated + segment.first_row * dim_, dim_, num_rows, left_frames_, &cache);
  }
  pointwise_2_.Forward(filtered, x.count, x.float32());
}

}  // namespace runnel::cpu
