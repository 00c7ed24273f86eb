#include "tools/verification/torchscript_model.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "encoder/encoder.h"

namespace runnel {

namespace {

// Optimised, the graph would be profiled and compiled again for every new shape.
struct UnoptimizedGraphs {
  torch::jit::GraphOptimizerEnabledGuard guard{false};
};

}  // namespace

struct TorchScriptModel::Module {
  torch::jit::Module module;
};

TorchScriptModel::TorchScriptModel(const std::string& path, const EncoderConfig& config,
                                   at::ScalarType dtype)
    : config_(config), dtype_(dtype) {
  try {
    module_ = std::make_unique<Module>(Module{torch::jit::load(path, at::kCPU)});
  } catch (const c10::Error& error) {
    throw std::runtime_error(path + ": LibTorch cannot load it: " + error.what_without_backtrace());
  }
  module_->module.to(dtype);
  module_->module.eval();
}

TorchScriptModel::~TorchScriptModel() = default;

at::Tensor TorchScriptModel::Forward(const at::Tensor& features,
                                     const StreamingSetting& setting) const {
  const c10::InferenceMode inference_mode;
  const UnoptimizedGraphs unoptimized;
  const at::Tensor lengths = at::full({1}, features.size(0), at::kLong);
  const c10::IValue result = module_->module.get_method("forward")(
      {features.to(dtype_).unsqueeze(0), lengths, setting.chunk_size, setting.left_context});
  return result.toTupleRef().elements()[0].toTensor()[0];
}

at::Tensor TorchScriptModel::ForwardChunks(const at::Tensor& features,
                                           const StreamingSetting& setting) const {
  const c10::InferenceMode inference_mode;
  const UnoptimizedGraphs unoptimized;
  const at::Tensor frames = features.to(dtype_);
  at::Tensor att_cache = at::zeros(
      {config_.num_layers, config_.num_heads, 0, int64_t{2} * config_.head_dim()}, dtype_);
  at::Tensor cnn_cache =
      at::zeros({config_.num_layers, 1, config_.model_dim, config_.conv_kernel_size - 1}, dtype_);
  const auto forward_chunk = module_->module.get_method("forward_chunk");
  constexpr int64_t kRate = Encoder::subsampling_rate();
  constexpr int64_t kWindow = Encoder::right_context() + 1;  // frames of one encoder frame
  std::vector<at::Tensor> outputs;
  int64_t offset = 0;
  for (int64_t begin = 0; frames.size(0) - begin >= kWindow;) {
    const int64_t left = frames.size(0) - begin;
    const int64_t num_frames =
        setting.chunk_size < 0 ? left : std::min(left, (setting.chunk_size - 1) * kRate + kWindow);
    const c10::IValue result = forward_chunk({frames.narrow(0, begin, num_frames).unsqueeze(0),
                                              offset, setting.left_context, att_cache, cnn_cache});
    const auto& elements = result.toTupleRef().elements();
    outputs.push_back(elements[0].toTensor()[0]);
    att_cache = elements[1].toTensor();
    cnn_cache = elements[2].toTensor();
    offset += outputs.back().size(0);
    begin += outputs.back().size(0) * kRate;
  }
  return at::cat(outputs, 0);
}

}  // namespace runnel
