// The convolutional gating MLP of a Branchformer on the kernels.
#ifndef RUNNEL_ENCODER_CPU_CGMLP_H_
#define RUNNEL_ENCODER_CPU_CGMLP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "encoder/backend.h"
#include "encoder/cpu/depthwise.h"
#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/layer_norm.h"
#include "encoder/cpu/options.h"
#include "encoder/cpu/packer.h"
#include "encoder/encoder_config.h"
#include "encoder/encoder_weights.h"

namespace runnel::cpu {

// The computation of libtorch::Cgmlp.
class Cgmlp final : public ResidualModule {
 public:
  Cgmlp(const CgmlpWeights& weights, const LayerNormWeights* norm, const BranchesConfig& config,
        const Options& options, Packer* packer);

  void Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const override;
  void Initialize(LayerState* state) const override;

 private:
  Options options_;
  int64_t dim_;                    // of the gates
  std::optional<LayerNorm> norm_;  // before the module
  kernels::PackedLinear projection_1_;
  LayerNorm norm_gates_;
  std::vector<float> initial_frame_;  // (dim): gates before the stream's start
  Depthwise depthwise_;
  std::optional<kernels::PackedLinear> linear_;
  Activation gate_activation_;
  kernels::PackedLinear projection_2_;
};

}  // namespace runnel::cpu

#endif  // RUNNEL_ENCODER_CPU_CGMLP_H_
