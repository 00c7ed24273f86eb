#include "encoder/cpu/convolution.h"

#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/cpu/kernels/scratch.h"
#include "encoder/strides.h"

namespace runnel::cpu {

Convolution::Convolution(const ConvolutionWeights& weights, const LayerNormWeights* norm,
                         const ConvolutionConfig& config, const Options& options, Packer* packer)
    : options_(options),
      dim_(weights.depthwise.bias.size(0)),
      norm_(LayerNorm::If(norm)),
      pointwise_1_(
          packer->Pack(weights.pointwise_1, {options.matmul_type, kernels::MatmulOutput::kStore})),
      initial_frame_(static_cast<size_t>(dim_), 0.0f),
      depthwise_(weights.depthwise, config.type, config.activation,
                 weights.norm ? &*weights.norm : nullptr, weights.stride),
      stride_(weights.stride),
      pointwise_2_(
          packer->Pack(weights.pointwise_2, {options.matmul_type, kernels::MatmulOutput::kAdd})) {
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
  depthwise_.FillCache(initial_frame_.data(), &state->cnn_cache);
}

void Convolution::Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const {
  kernels::Scratch scratch;
  auto* values = scratch.Take<float>(x.count * 2 * dim_);
  pointwise_1_.Forward(NormalizedInput(x, norm_, options_.matmul_type, &scratch), x.count, values);
  auto* gated = scratch.Take<float>(x.count * dim_);
  kernels::Glu(values, x.count, dim_, gated);
  const kernels::MatmulInput filtered =
      kernels::MatmulInput::Take(&scratch, options_.matmul_type, y.count, dim_);
  int64_t first_output = 0;
  for (const Segment& segment : segments) {
    depthwise_.Forward(segment, gated, &segment.state->cnn_cache, first_output, filtered);
    first_output += NumStrided(segment.num_rows(), stride_);
  }
  pointwise_2_.Forward(filtered, y.count, y.float32());
}

}  // namespace runnel::cpu
