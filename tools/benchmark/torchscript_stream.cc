#include "tools/benchmark/torchscript_stream.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <stdexcept>

namespace runnel {

struct TorchScriptArchive::Module {
  torch::jit::Module module;
};

TorchScriptArchive::TorchScriptArchive(const std::string& path) {
  try {
    module_ = std::make_unique<Module>(Module{torch::jit::load(path, at::kCPU)});
  } catch (const c10::Error& error) {
    throw std::runtime_error(path + ": LibTorch cannot load it: " + error.what_without_backtrace());
  }
  module_->module.eval();
}

TorchScriptArchive::~TorchScriptArchive() = default;

TorchScriptStream::TorchScriptStream(const TorchScriptArchive* archive, const FeaturePool* pool,
                                     const EncoderConfig& config, const StreamingSetting& setting)
    : archive_(archive),
      pool_(pool),
      geometry_(config.subsampling),
      setting_(setting),
      // A stream that has come as far as its left context, in whole chunks.
      offset_((setting.left_context / setting.chunk_size + 1) * setting.chunk_size) {
  const c10::InferenceMode inference_mode;
  att_cache_ = at::zeros(
      {config.num_layers, config.num_heads, setting.left_context, int64_t{2} * config.head_dim()});
  const c10::IValue initial = archive_->module_->module.get_method("initial_caches")({});
  cnn_cache_ = initial.toTupleRef().elements()[1].toTensor();
}

void TorchScriptStream::Step() {
  const c10::InferenceMode inference_mode;
  const int64_t begin = std::max<int64_t>(0, offset_ * geometry_.rate() - geometry_.left_overlap());
  const int64_t num_frames = (offset_ + setting_.chunk_size - 1) * geometry_.rate() +
                             geometry_.right_context() + 1 - begin;
  const at::Tensor frames = at::from_blob(const_cast<float*>(pool_->Frames(begin, num_frames)),
                                          {1, num_frames, pool_->dim()}, at::kFloat);
  const c10::IValue result = archive_->module_->module.get_method("forward_chunk")(
      {frames, offset_, false, setting_.left_context, att_cache_, cnn_cache_});
  const auto& elements = result.toTupleRef().elements();
  att_cache_ = elements[1].toTensor();
  cnn_cache_ = elements[2].toTensor();
  offset_ += setting_.chunk_size;
}

}  // namespace runnel
