#include "encoder/cpu/cgmlp.h"

#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/cpu/kernels/scratch.h"

namespace runnel::cpu {

Cgmlp::Cgmlp(const CgmlpWeights& weights, const LayerNormWeights* norm,
             const BranchesConfig& config, const Options& options, Packer* packer)
    : options_(options),
      dim_(config.gate_dim()),
      norm_(LayerNorm::If(norm)),
      projection_1_(
          packer->Pack(weights.projection_1,
                       {options.matmul_type, kernels::MatmulOutput::kStore, Activation::kGelu})),
      norm_gates_(weights.norm),
      initial_frame_(static_cast<size_t>(dim_), 0.0f),
      depthwise_(weights.depthwise, config.type, Activation::kIdentity),
      gate_activation_(config.gate_activation),
      projection_2_(
          packer->Pack(weights.projection_2, {options.matmul_type, kernels::MatmulOutput::kAdd})) {
  if (weights.linear) {
    linear_.emplace(
        packer->Pack(*weights.linear, {options.matmul_type, kernels::MatmulOutput::kStore}));
  }
  // What the norm makes of zeros.
  if (config.type == ConvolutionType::kCausal) initial_frame_ = Float32Values(weights.norm.bias);
}

void Cgmlp::Initialize(LayerState* state) const {
  state->cnn_cache = RowRing(dim_, DataType::kFloat32);
  depthwise_.FillCache(initial_frame_.data(), &state->cnn_cache);
}

void Cgmlp::Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const {
  kernels::Scratch scratch;
  auto* values = scratch.Take<float>(x.count * 2 * dim_);
  projection_1_.Forward(NormalizedInput(x, norm_, options_.matmul_type, &scratch), x.count, values);
  auto* gates = scratch.Take<float>(x.count * dim_);
  kernels::LayerNormOfSecondHalf(values, x.count, dim_, norm_gates_.weights(), gates);
  const kernels::MatmulInput filtered = kernels::MatmulInput::Take(
      &scratch, linear_ ? options_.matmul_type : kernels::MatmulType::kFloat32, x.count, dim_);
  for (const Segment& segment : segments) {
    depthwise_.Forward(segment, gates, &segment.state->cnn_cache, segment.first_row, filtered);
  }
  if (linear_) {
    linear_->Forward(filtered, x.count, gates);
  } else {
    gates = filtered.float_row(0);
  }
  const kernels::MatmulInput product =
      kernels::MatmulInput::Take(&scratch, options_.matmul_type, x.count, dim_);
  kernels::MultiplyByGates(values, gates, x.count, gate_activation_, product);
  projection_2_.Forward(product, x.count, y.float32());
}

}  // namespace runnel::cpu
