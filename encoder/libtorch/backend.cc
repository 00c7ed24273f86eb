#include "encoder/libtorch/backend.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/log_softmax.h>

#include "encoder/libtorch/attention.h"
#include "encoder/libtorch/branches.h"
#include "encoder/libtorch/convolution.h"
#include "encoder/libtorch/dense.h"
#include "encoder/libtorch/operation_guard.h"
#include "encoder/libtorch/subsampling.h"
#include "encoder/libtorch/tensor_rows.h"
#include "encoder/position/position_scheme.h"

namespace runnel {
namespace libtorch {
namespace {

class Norm final : public NormModule {
 public:
  explicit Norm(const LayerNormWeights& weights) : weights_(weights) {}

  void Normalize(Rows x) const override {
    const OperationGuard guard;
    at::Tensor rows = View(x);
    rows.copy_(LayerNorm(weights_, rows));
  }

 private:
  LayerNormWeights weights_;
};

class BasicNormLayer final : public NormModule {
 public:
  explicit BasicNormLayer(const BasicNormWeights& weights) : weights_(weights) {}

  void Normalize(Rows x) const override {
    const OperationGuard guard;
    at::Tensor rows = View(x);
    rows.copy_(BasicNorm(weights_, rows));
  }

 private:
  BasicNormWeights weights_;
};

class LinearLayer final : public LinearModule {
 public:
  explicit LinearLayer(const LinearWeights& weights) : weights_(weights) {}

  void Forward(ConstRows x, Rows y) const override {
    const OperationGuard guard;
    View(y).copy_(Linear(weights_, View(x)));
  }

 private:
  LinearWeights weights_;
};

class CtcHead final : public runnel::CtcHead {
 public:
  explicit CtcHead(const LinearWeights& weights) : weights_(weights) {}

  Matrix LogProbs(ConstRows encoder_rows) const override {
    const int64_t input_dim = weights_.weight.size(1);
    if (encoder_rows.dim != input_dim) ThrowWidth(encoder_rows.dim, input_dim);
    const OperationGuard guard;
    return Matrix(View(at::log_softmax(Linear(weights_, View(encoder_rows)), -1)));
  }

 private:
  LinearWeights weights_;
};

class LibTorchBackend final : public EncoderBackend {
 public:
  LibTorchBackend(const EncoderConfig& config, Weights* weights)
      : config_(config),
        data_type_(weights->data_type()),
        positions_(BuildPositions(config.position, weights, AttentionNames(config),
                                  config.attention_sizes())) {}

  DataType data_type() const override { return data_type_; }

  std::unique_ptr<const InputPositionModule> MakeInputPositions() const override {
    return runnel::MakeInputPositions(positions_);
  }

  std::unique_ptr<const SubsamplingModule> MakeSubsampling(
      const SubsamplingWeights& weights) const override {
    return std::make_unique<Subsampling>(weights, config_);
  }
  std::unique_ptr<const ResidualModule> MakeAttention(int layer, const AttentionWeights& weights,
                                                      const LayerNormWeights* norm) const override {
    return std::make_unique<Attention>(weights, norm, config_,
                                       positions_.layers[static_cast<size_t>(layer)]);
  }
  std::unique_ptr<const ResidualModule> MakeConvolution(
      const ConvolutionWeights& weights, const LayerNormWeights* norm) const override {
    return std::make_unique<Convolution>(weights, norm, *config_.convolution);
  }
  std::unique_ptr<const ResidualModule> MakeCgmlp(const CgmlpWeights& weights,
                                                  const LayerNormWeights* norm) const override {
    return std::make_unique<Cgmlp>(weights, norm, *config_.branches);
  }
  std::unique_ptr<const BranchMergeModule> MakeBranchMerge(
      const BranchMergeWeights& weights) const override {
    return std::make_unique<BranchMerge>(weights, *config_.branches);
  }
  std::unique_ptr<const ResidualModule> MakeFeedForward(
      const FeedForwardWeights& weights, const LayerNormWeights* norm) const override {
    return std::make_unique<FeedForward>(weights, norm);
  }
  std::unique_ptr<const NormModule> MakeNorm(const LayerNormWeights& weights) const override {
    return std::make_unique<Norm>(weights);
  }
  std::unique_ptr<const NormModule> MakeBasicNorm(const BasicNormWeights& weights) const override {
    return std::make_unique<BasicNormLayer>(weights);
  }
  std::unique_ptr<const LinearModule> MakeLinear(const LinearWeights& weights) const override {
    return std::make_unique<LinearLayer>(weights);
  }
  std::unique_ptr<const runnel::CtcHead> MakeCtcHead(const LinearWeights& weights) const override {
    return std::make_unique<CtcHead>(weights);
  }

 private:
  EncoderConfig config_;
  DataType data_type_;
  PositionModules positions_;
};

}  // namespace
}  // namespace libtorch

std::unique_ptr<const EncoderBackend> MakeLibTorchBackend(const EncoderConfig& config,
                                                          Weights* weights) {
  return std::make_unique<libtorch::LibTorchBackend>(config, weights);
}

}  // namespace runnel
