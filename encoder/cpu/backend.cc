#include "encoder/cpu/backend.h"

#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>

#include "encoder/cpu/attention.h"
#include "encoder/cpu/branch_merge.h"
#include "encoder/cpu/cgmlp.h"
#include "encoder/cpu/convolution.h"
#include "encoder/cpu/feed_forward.h"
#include "encoder/cpu/frame_positions.h"
#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/cpu/kernels/scratch.h"
#include "encoder/cpu/kernels/step_threads.h"
#include "encoder/cpu/layer_norm.h"
#include "encoder/cpu/subsampling.h"
#include "encoder/position/position_scheme.h"

namespace runnel {
namespace cpu {
namespace {

class Linear final : public LinearModule {
 public:
  Linear(const LinearWeights& weights, kernels::MatmulType type, Packer* packer)
      : type_(type), linear_(packer->Pack(weights, {type, kernels::MatmulOutput::kStore})) {}

  const kernels::LinearShape& shape() const { return linear_.shape(); }

  void Forward(ConstRows x, Rows y) const override {
    kernels::Scratch scratch;
    const kernels::MatmulInput input = kernels::MatmulInput::Take(&scratch, type_, x.count, x.dim);
    kernels::StoreRows(x.float32(), x.count, input);
    linear_.Forward(input, x.count, y.float32());
  }

 private:
  kernels::MatmulType type_;
  kernels::PackedLinear linear_;
};

class CtcHead final : public runnel::CtcHead {
 public:
  CtcHead(const LinearWeights& weights, kernels::MatmulType type, Packer* packer)
      : linear_(weights, type, packer) {}

  Matrix LogProbs(ConstRows encoder_rows) const override {
    const auto [input_dim, output_dim] = linear_.shape();
    if (encoder_rows.dim != input_dim) ThrowWidth(encoder_rows.dim, input_dim);
    Matrix log_probs(DataType::kFloat32, output_dim, encoder_rows.count);
    linear_.Forward(encoder_rows, log_probs.rows());
    kernels::LogSoftmax(encoder_rows.count, output_dim, log_probs.rows().float32());
    return log_probs;
  }

 private:
  Linear linear_;
};

class ThreadedStepRunner final : public StepRunner {
 public:
  explicit ThreadedStepRunner(int num_threads) : teams_(num_threads) {}

  void Run(const std::function<void()>& step) const override {
    const kernels::StepThreads threads(&teams_);
    step();
  }

 private:
  mutable kernels::StepTeams teams_;
};

class CpuBackend final : public EncoderBackend {
 public:
  CpuBackend(const EncoderConfig& config, Weights* weights, const Options& options,
             std::shared_ptr<Packer> packer)
      : config_(config),
        options_(options),
        packer_(std::move(packer)),
        positions_(BuildPositions(config.position, weights, AttentionNames(config),
                                  config.attention_sizes(), PackPositions())) {
    if (std::holds_alternative<UnshiftedPosition>(config.position) ||
        std::holds_alternative<GroupedUnshifted>(config.position)) {
      sinusoids_ = std::make_shared<const FrameSinusoids>(config.model_dim);
    } else if (std::holds_alternative<RotaryPosition>(config.position)) {
      sinusoids_ = std::make_shared<const FrameSinusoids>(config.head_dim());
    }
    if (options.usual_distances && !positions_.layers.empty()) {
      const auto* rows = std::get_if<RowsByDistance>(&positions_.layers[0].rows);
      if (rows != nullptr) rows->table->Covering(*options.usual_distances);
    }
  }

  DataType data_type() const override { return DataType::kFloat32; }

  std::unique_ptr<const StepRunner> MakeStepRunner() const override {
    return std::make_unique<ThreadedStepRunner>(options_.step_threads);
  }
  std::unique_ptr<const InputPositionModule> MakeInputPositions() const override {
    return runnel::MakeInputPositions(positions_);
  }

  std::unique_ptr<const SubsamplingModule> MakeSubsampling(
      const SubsamplingWeights& weights) const override {
    return std::make_unique<Subsampling>(weights, config_, options_, packer_.get());
  }
  std::unique_ptr<const ResidualModule> MakeAttention(int layer, const AttentionWeights& weights,
                                                      const LayerNormWeights* norm) const override {
    return std::make_unique<Attention>(weights, norm, config_,
                                       positions_.layers[static_cast<size_t>(layer)], options_,
                                       packer_.get(), sinusoids_);
  }
  std::unique_ptr<const ResidualModule> MakeConvolution(
      const ConvolutionWeights& weights, const LayerNormWeights* norm) const override {
    return std::make_unique<Convolution>(weights, norm, *config_.convolution, options_,
                                         packer_.get());
  }
  std::unique_ptr<const ResidualModule> MakeCgmlp(const CgmlpWeights& weights,
                                                  const LayerNormWeights* norm) const override {
    return std::make_unique<Cgmlp>(weights, norm, *config_.branches, options_, packer_.get());
  }
  std::unique_ptr<const BranchMergeModule> MakeBranchMerge(
      const BranchMergeWeights& weights) const override {
    return std::make_unique<BranchMerge>(weights, *config_.branches, options_, packer_.get());
  }
  std::unique_ptr<const ResidualModule> MakeFeedForward(
      const FeedForwardWeights& weights, const LayerNormWeights* norm) const override {
    return std::make_unique<FeedForward>(weights, norm, options_, packer_.get());
  }
  std::unique_ptr<const NormModule> MakeNorm(const LayerNormWeights& weights) const override {
    return std::make_unique<LayerNorm>(weights);
  }
  std::unique_ptr<const NormModule> MakeBasicNorm(const BasicNormWeights& weights) const override {
    return std::make_unique<BasicNorm>(weights);
  }
  std::unique_ptr<const LinearModule> MakeLinear(const LinearWeights& weights) const override {
    return std::make_unique<Linear>(weights, options_.matmul_type, packer_.get());
  }
  std::unique_ptr<const runnel::CtcHead> MakeCtcHead(const LinearWeights& weights) const override {
    return std::make_unique<CtcHead>(weights, options_.matmul_type, packer_.get());
  }

 private:
  // Null for float32, which is not packed.
  PositionPacker PackPositions() const {
    if (options_.position_type == kernels::MatmulType::kFloat32) return nullptr;
    return [this](const LinearWeights& weights) {
      return packer_->Pack(weights, {options_.position_type, kernels::MatmulOutput::kStore});
    };
  }

  EncoderConfig config_;
  Options options_;
  std::shared_ptr<Packer> packer_;
  PositionModules positions_;
  std::shared_ptr<const FrameSinusoids> sinusoids_;  // for unshifted and rotary positions
};

}  // namespace
}  // namespace cpu

std::unique_ptr<const EncoderBackend> MakeCpuBackend(const EncoderConfig& config, Weights* weights,
                                                     const cpu::Options& options,
                                                     std::shared_ptr<cpu::Packer> packer) {
  if (weights->data_type() != DataType::kFloat32) {
    throw std::invalid_argument(std::string("the CPU backend was given weights of type ") +
                                NameOf(weights->data_type()) + ", expected float32");
  }
  return std::make_unique<cpu::CpuBackend>(config, weights, options, std::move(packer));
}

}  // namespace runnel
