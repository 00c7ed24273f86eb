// The merging of the branches of a Branchformer on the kernels.
#ifndef RUNNEL_ENCODER_CPU_BRANCH_MERGE_H_
#define RUNNEL_ENCODER_CPU_BRANCH_MERGE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/depthwise.h"
#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/options.h"
#include "encoder/cpu/packer.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"

namespace runnel::cpu {

// The computation of libtorch::BranchMerge.
class BranchMerge final : public BranchMergeModule {
 public:
  BranchMerge(const BranchMergeWeights& weights, const BranchesConfig& config,
              const Options& options, Packer* packer);

  void Add(const std::vector<Segment>& segments, ConstRows attended, ConstRows gated,
           Rows x) const override;
  void Initialize(LayerState* state) const override;

 private:
  Options options_;
  std::optional<Depthwise> depthwise_;
  kernels::PackedLinear projection_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_BRANCH_MERGE_H_
