#include "tools/reference/torchscript_baseline.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>

#include <cstdint>

#include "encoder/libtorch/operation_guard.h"
#include "tools/reference/torchscript_model.h"

namespace runnel {
namespace {

class TorchScriptStream final : public BaselineStream {
 public:
  // Starts with full caches of zeros: LibTorch's profiling executor then sees only the shapes that
  // are measured, and optimises for them.
  TorchScriptStream(const TorchScriptModel* script, const FeaturePool* pool,
                    const EncoderConfig& config, const StreamingSetting& setting)
      : script_(script),
        pool_(pool),
        setting_(setting),
        // The stream is past its left context, after whole chunks.
        offset_((setting.left_context / setting.chunk_size + 1) * setting.chunk_size) {
    const libtorch::OperationGuard guard;
    caches_ = script_->InitialCaches();
    caches_.att_cache = at::zeros({config.num_layers, config.num_heads, setting.left_context,
                                   int64_t{2} * config.head_dim()});
  }

  void Step() override {
    const FrameRange range = script_->FramesOfChunk(offset_, setting_.chunk_size);
    const int64_t num_frames = range.end - range.begin;
    const at::Tensor frames =
        at::from_blob(const_cast<float*>(pool_->Frames(range.begin, num_frames)),
                      {num_frames, pool_->dim()}, at::kFloat);
    script_->ForwardChunk(frames, offset_, /*last=*/false, setting_.left_context, &caches_);
    offset_ += setting_.chunk_size;
  }

 private:
  const TorchScriptModel* script_;
  const FeaturePool* pool_;
  StreamingSetting setting_;
  int64_t offset_;  // encoder frames before the chunk
  TorchScriptModel::Caches caches_;
};

class TorchScriptBaseline final : public Baseline {
 public:
  TorchScriptBaseline(const std::string& model_path, const EncoderConfig& config)
      : config_(config),
        script_(model_path, config, at::kFloat, TorchScriptModel::Execution::kOptimized,
                TorchScriptModel::Output::kCtcLogProbs) {}

  std::unique_ptr<BaselineStream> MakeStream(const FeaturePool* pool,
                                             const StreamingSetting& setting) const override {
    return std::make_unique<TorchScriptStream>(&script_, pool, config_, setting);
  }

 private:
  EncoderConfig config_;
  TorchScriptModel script_;
};

}  // namespace

std::unique_ptr<const Baseline> MakeTorchScriptBaseline(const std::string& model_path,
                                                        const EncoderConfig& config) {
  return std::make_unique<const TorchScriptBaseline>(model_path, config);
}

}  // namespace runnel
