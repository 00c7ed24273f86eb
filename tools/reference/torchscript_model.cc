#include "tools/reference/torchscript_model.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/tensor.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "encoder/libtorch/operation_guard.h"

namespace runnel {
namespace {

// (1, tokens) int64.
at::Tensor AsBatch(const std::vector<int32_t>& tokens) {
  return at::tensor(std::vector<int64_t>(tokens.begin(), tokens.end()), at::kLong).unsqueeze(0);
}

}  // namespace

struct TorchScriptModel::Module {
  // LibTorch's choice between interpreting and compiling a graph belongs to the calling thread.
  c10::IValue Call(const char* method, std::vector<c10::IValue> arguments,
                   Execution execution) const {
    const libtorch::OperationGuard operation_guard;
    const torch::jit::GraphOptimizerEnabledGuard guard(execution == Execution::kOptimized);
    return module.get_method(method)(std::move(arguments));
  }

  torch::jit::Module module;
};

TorchScriptModel::TorchScriptModel(const std::string& path, const EncoderConfig& config,
                                   at::ScalarType dtype, Execution execution, Output output)
    : subsampling_(config.Geometry()), dtype_(dtype), execution_(execution), output_(output) {
  try {
    module_ = std::make_unique<Module>(Module{torch::jit::load(path, at::kCPU)});
  } catch (const c10::Error& error) {
    throw std::runtime_error(path + ": LibTorch cannot load it: " + error.what_without_backtrace());
  }
  module_->module.to(dtype);
  module_->module.eval();
}

TorchScriptModel::~TorchScriptModel() = default;

at::Tensor TorchScriptModel::Forward(const at::Tensor& features, int64_t chunk_size,
                                     int64_t left_context) const {
  const libtorch::OperationGuard operation_guard;
  const at::Tensor lengths = at::full({1}, features.size(0), at::kLong);
  const c10::IValue result = module_->Call(
      output_ == Output::kCtcLogProbs ? "forward" : "encode",
      {features.to(dtype_).unsqueeze(0), lengths, chunk_size, left_context}, execution_);
  return result.toTupleRef().elements()[0].toTensor()[0];
}

TorchScriptModel::Caches TorchScriptModel::InitialCaches() const {
  const c10::IValue result = module_->Call("initial_caches", {}, execution_);
  const auto& elements = result.toTupleRef().elements();
  return {elements[0].toTensor(), elements[1].toTensor()};
}

FrameRange TorchScriptModel::FramesOfChunk(int64_t offset, int64_t chunk_size) const {
  return {std::max<int64_t>(0, offset * subsampling_.rate() - subsampling_.left_overlap()),
          (offset + chunk_size - 1) * subsampling_.rate() + subsampling_.right_context() + 1};
}

at::Tensor TorchScriptModel::ForwardChunk(const at::Tensor& frames, int64_t offset, bool last,
                                          int64_t left_context, Caches* caches) const {
  const libtorch::OperationGuard operation_guard;
  const c10::IValue result =
      module_->Call(output_ == Output::kCtcLogProbs ? "forward_chunk" : "encode_chunk",
                    {frames.to(dtype_).unsqueeze(0), offset, last, left_context, caches->att_cache,
                     caches->cnn_cache},
                    execution_);
  const auto& elements = result.toTupleRef().elements();
  *caches = {elements[1].toTensor(), elements[2].toTensor()};
  return elements[0].toTensor()[0];
}

at::Tensor TorchScriptModel::ApplyPrompt(const at::Tensor& encoder_rows, int64_t language) const {
  const libtorch::OperationGuard operation_guard;
  const c10::IValue result = module_->Call(
      "apply_prompt", {encoder_rows.to(dtype_).unsqueeze(0), at::full({1}, language, at::kLong)},
      execution_);
  return result.toTensor()[0];
}

at::Tensor TorchScriptModel::InitialPredictorState() const {
  const libtorch::OperationGuard operation_guard;
  return module_->Call("initial_predictor_state", {int64_t{1}}, execution_).toTensor();
}

TorchScriptModel::PredictorStep TorchScriptModel::StepPredictor(const std::vector<int32_t>& tokens,
                                                                const at::Tensor& states) const {
  const libtorch::OperationGuard operation_guard;
  const c10::IValue result =
      module_->Call("predictor_step", {at::tensor(tokens, at::kLong), states}, execution_);
  const auto& elements = result.toTupleRef().elements();
  return {elements[0].toTensor(), elements[1].toTensor()};
}

at::Tensor TorchScriptModel::JointLogits(const at::Tensor& heads_input,
                                         const at::Tensor& predictor_outputs) const {
  const libtorch::OperationGuard operation_guard;
  return module_->Call("joint", {heads_input.to(dtype_), predictor_outputs}, execution_).toTensor();
}

at::Tensor TorchScriptModel::DecoderLogProbs(const at::Tensor& heads_input,
                                             const std::vector<int32_t>& tokens,
                                             bool reverse) const {
  const libtorch::OperationGuard operation_guard;
  const c10::IValue result = module_->Call(
      "decoder_log_probs",
      {heads_input.to(dtype_).unsqueeze(0), at::full({1}, heads_input.size(0), at::kLong),
       AsBatch(tokens), at::full({1}, static_cast<int64_t>(tokens.size()), at::kLong), reverse},
      execution_);
  return result.toTensor()[0];
}

}  // namespace runnel
