#include "tools/benchmark/torchscript_stream.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

namespace runnel {

TorchScriptStream::TorchScriptStream(const TorchScriptModel* script, const FeaturePool* pool,
                                     const EncoderConfig& config, const StreamingSetting& setting)
    : script_(script),
      pool_(pool),
      setting_(setting),
      // The stream is past its left context, after whole chunks.
      offset_((setting.left_context / setting.chunk_size + 1) * setting.chunk_size) {
  const c10::InferenceMode inference_mode;
  caches_ = script_->InitialCaches();
  caches_.att_cache = at::zeros(
      {config.num_layers, config.num_heads, setting.left_context, int64_t{2} * config.head_dim()});
}

void TorchScriptStream::Step() {
  const FrameRange range = script_->FramesOfChunk(offset_, setting_.chunk_size);
  const int64_t num_frames = range.end - range.begin;
  const at::Tensor frames =
      at::from_blob(const_cast<float*>(pool_->Frames(range.begin, num_frames)),
                    {num_frames, pool_->dim()}, at::kFloat);
  script_->ForwardChunk(frames, offset_, /*last=*/false, setting_.left_context, &caches_);
  offset_ += setting_.chunk_size;
}

}  // namespace runnel
