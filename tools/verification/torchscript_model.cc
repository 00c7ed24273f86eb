#include "tools/verification/torchscript_model.h"

#include <ATen/Functions.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

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
    : subsampling_(config.subsampling), dtype_(dtype) {
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
  const int64_t num_encoder_frames = subsampling_.NumEncoderFrames(frames.size(0));
  const c10::IValue initial = module_->module.get_method("initial_caches")({});
  at::Tensor att_cache = initial.toTupleRef().elements()[0].toTensor();
  at::Tensor cnn_cache = initial.toTupleRef().elements()[1].toTensor();
  const auto forward_chunk = module_->module.get_method("forward_chunk");
  std::vector<at::Tensor> outputs;
  for (int64_t offset = 0; offset < num_encoder_frames;) {
    const int64_t begin =
        std::max<int64_t>(0, offset * subsampling_.rate() - subsampling_.left_overlap());
    const int64_t complete =
        (offset + setting.chunk_size - 1) * subsampling_.rate() + subsampling_.right_context() + 1;
    const bool last = setting.chunk_size == -1 || complete > frames.size(0);
    const int64_t end = last ? frames.size(0) : complete;
    const c10::IValue result =
        forward_chunk({frames.narrow(0, begin, end - begin).unsqueeze(0), offset, last,
                       setting.left_context, att_cache, cnn_cache});
    const auto& elements = result.toTupleRef().elements();
    outputs.push_back(elements[0].toTensor()[0]);
    att_cache = elements[1].toTensor();
    cnn_cache = elements[2].toTensor();
    offset += outputs.back().size(0);
  }
  return at::cat(outputs, 0);
}

}  // namespace runnel
