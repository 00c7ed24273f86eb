#include "tools/benchmark/part_timer.h"

#include <optional>
#include <utility>
#include <vector>

#include "tools/benchmark/durations.h"

namespace runnel {
namespace {

class TimedSubsampling final : public SubsamplingModule {
 public:
  TimedSubsampling(std::unique_ptr<const SubsamplingModule> module, double* ms)
      : module_(std::move(module)), ms_(ms) {}

  void Forward(const std::vector<Segment>& segments, Rows x) const override {
    *ms_ += MillisecondsOf([&] { module_->Forward(segments, x); });
  }

 private:
  std::unique_ptr<const SubsamplingModule> module_;
  double* ms_;
};

class TimedModule final : public ResidualModule {
 public:
  TimedModule(std::unique_ptr<const ResidualModule> module, double* ms)
      : module_(std::move(module)), ms_(ms) {}

  void Add(const std::vector<Segment>& segments, ConstRows x, Rows y) const override {
    *ms_ += MillisecondsOf([&] { module_->Add(segments, x, y); });
  }
  void Initialize(LayerState* state) const override { module_->Initialize(state); }

 private:
  std::unique_ptr<const ResidualModule> module_;
  double* ms_;
};

class TimedBranchMerge final : public BranchMergeModule {
 public:
  TimedBranchMerge(std::unique_ptr<const BranchMergeModule> module, double* ms)
      : module_(std::move(module)), ms_(ms) {}

  void Add(const std::vector<Segment>& segments, ConstRows attended, ConstRows gated,
           Rows x) const override {
    *ms_ += MillisecondsOf([&] { module_->Add(segments, attended, gated, x); });
  }
  void Initialize(LayerState* state) const override { module_->Initialize(state); }

 private:
  std::unique_ptr<const BranchMergeModule> module_;
  double* ms_;
};

class TimedCtcHead final : public CtcHead {
 public:
  TimedCtcHead(std::unique_ptr<const CtcHead> head, double* ms) : head_(std::move(head)), ms_(ms) {}

  Matrix LogProbs(ConstRows encoder_rows) const override {
    std::optional<Matrix> log_probs;
    *ms_ += MillisecondsOf([&] { log_probs = head_->LogProbs(encoder_rows); });
    return std::move(*log_probs);
  }

 private:
  std::unique_ptr<const CtcHead> head_;
  double* ms_;
};

class TimedBackend final : public EncoderBackend {
 public:
  TimedBackend(std::unique_ptr<const EncoderBackend> backend, PartTimes* times)
      : backend_(std::move(backend)), times_(*times) {}

  DataType data_type() const override { return backend_->data_type(); }
  std::unique_ptr<const StepRunner> MakeStepRunner() const override {
    return backend_->MakeStepRunner();
  }
  std::unique_ptr<const InputPositionModule> MakeInputPositions() const override {
    return backend_->MakeInputPositions();
  }
  std::unique_ptr<const SubsamplingModule> MakeSubsampling(
      const SubsamplingWeights& weights) const override {
    return std::make_unique<TimedSubsampling>(backend_->MakeSubsampling(weights),
                                              &times_[kSubsamplingPart]);
  }
  std::unique_ptr<const ResidualModule> MakeAttention(int layer, const AttentionWeights& weights,
                                                      const LayerNormWeights* norm) const override {
    return Timed(backend_->MakeAttention(layer, weights, norm), kAttentionPart);
  }
  std::unique_ptr<const ResidualModule> MakeConvolution(
      const ConvolutionWeights& weights, const LayerNormWeights* norm) const override {
    return Timed(backend_->MakeConvolution(weights, norm), kConvolutionPart);
  }
  std::unique_ptr<const ResidualModule> MakeCgmlp(const CgmlpWeights& weights,
                                                  const LayerNormWeights* norm) const override {
    return Timed(backend_->MakeCgmlp(weights, norm), kConvolutionPart);
  }
  std::unique_ptr<const BranchMergeModule> MakeBranchMerge(
      const BranchMergeWeights& weights) const override {
    return std::make_unique<TimedBranchMerge>(backend_->MakeBranchMerge(weights),
                                              &times_[kConvolutionPart]);
  }
  std::unique_ptr<const ResidualModule> MakeFeedForward(
      const FeedForwardWeights& weights, const LayerNormWeights* norm) const override {
    return Timed(backend_->MakeFeedForward(weights, norm), kFeedForwardPart);
  }
  std::unique_ptr<const NormModule> MakeNorm(const LayerNormWeights& weights) const override {
    return backend_->MakeNorm(weights);
  }
  std::unique_ptr<const NormModule> MakeBasicNorm(const BasicNormWeights& weights) const override {
    return backend_->MakeBasicNorm(weights);
  }
  std::unique_ptr<const LinearModule> MakeLinear(const LinearWeights& weights) const override {
    return backend_->MakeLinear(weights);
  }
  std::unique_ptr<const CtcHead> MakeCtcHead(const LinearWeights& weights) const override {
    return std::make_unique<TimedCtcHead>(backend_->MakeCtcHead(weights), &times_[kCtcPart]);
  }

 private:
  std::unique_ptr<const ResidualModule> Timed(std::unique_ptr<const ResidualModule> module,
                                              ModelPart part) const {
    return std::make_unique<TimedModule>(std::move(module), &times_[part]);
  }

  std::unique_ptr<const EncoderBackend> backend_;
  PartTimes& times_;
};

}  // namespace

std::unique_ptr<const EncoderBackend> MakeTimedBackend(
    std::unique_ptr<const EncoderBackend> backend, PartTimes* times) {
  return std::make_unique<TimedBackend>(std::move(backend), times);
}

}  // namespace runnel
