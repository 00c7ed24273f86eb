// The modules of a Branchformer layer besides attention and feed-forward.
#ifndef RUNNEL_ENCODER_LIBTORCH_BRANCHES_H_
#define RUNNEL_ENCODER_LIBTORCH_BRANCHES_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"
#include "encoder/libtorch/depthwise.h"
#include "encoder/libtorch/tensor_module.h"

namespace runnel::libtorch {

// Linear and GELU; of the two halves, the second is normalised, filtered and activated, and
// multiplied with the first; linear (Sakuma et al. 2022, Peng et al. 2022).
class Cgmlp final : public TensorModule {
 public:
  Cgmlp(const CgmlpWeights& weights, const LayerNormWeights* norm, const BranchesConfig& config)
      : TensorModule(norm),
        weights_(weights),
        config_(config),
        depthwise_(weights.depthwise, config.type) {}

  at::Tensor Forward(const at::Tensor& x, const std::vector<Segment>& segments) const override;
  void Initialize(LayerState* state) const override;

 private:
  CgmlpWeights weights_;
  BranchesConfig config_;
  Depthwise depthwise_;
};

// Both branches side by side, filtered where there is a convolution (Kim et al. 2022), and
// projected.
class BranchMerge final : public BranchMergeModule {
 public:
  BranchMerge(const BranchMergeWeights& weights, const BranchesConfig& config);

  void Add(const std::vector<Segment>& segments, ConstRows attended, ConstRows gated,
           Rows x) const override;
  void Initialize(LayerState* state) const override;

 private:
  BranchMergeWeights weights_;
  std::optional<Depthwise> depthwise_;
};

}  // namespace runnel::libtorch

#endif  // RUNNEL_ENCODER_LIBTORCH_BRANCHES_H_
