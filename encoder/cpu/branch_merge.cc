#include "encoder/cpu/branch_merge.h"

#include <algorithm>

#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/cpu/kernels/scratch.h"

namespace runnel::cpu {

BranchMerge::BranchMerge(const BranchMergeWeights& weights, const BranchesConfig& config,
                         const Options& options, Packer* packer)
    : options_(options),
      projection_(
          packer->Pack(weights.projection, {options.matmul_type, kernels::MatmulOutput::kAdd})) {
  if (weights.depthwise) {
    depthwise_.emplace(*weights.depthwise, config.type, Activation::kIdentity);
  }
}

void BranchMerge::Initialize(LayerState* state) const {
  if (!depthwise_) return;
  const int64_t dim = projection_.shape().input_dim;
  state->merge_cache.emplace(dim, DataType::kFloat32);
  const std::vector<float> silence(static_cast<size_t>(dim), 0.0f);
  depthwise_->FillCache(silence.data(), &*state->merge_cache);
}

void BranchMerge::Add(const std::vector<Segment>& segments, ConstRows attended, ConstRows gated,
                      Rows x) const {
  const int64_t dim = projection_.shape().input_dim;
  kernels::Scratch scratch;
  auto* both = scratch.Take<float>(x.count * dim);
  for (int64_t i = 0; i < x.count; ++i) {
    std::copy_n(attended.float32(i), attended.dim, both + i * dim);
    std::copy_n(gated.float32(i), gated.dim, both + i * dim + attended.dim);
  }
  const kernels::MatmulInput merged =
      kernels::MatmulInput::Take(&scratch, options_.matmul_type, x.count, dim);
  if (depthwise_) {
    for (const Segment& segment : segments) {
      depthwise_->Forward(segment, both, &*segment.state->merge_cache, segment.first_row, merged);
    }
  } else {
    kernels::StoreRows(both, x.count, merged);
  }
  projection_.Forward(merged, x.count, x.float32());
}

}  // namespace runnel::cpu
