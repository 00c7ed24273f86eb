// Ways to run the encoder over one recording that must all give the same encoder frames.
#ifndef RUNNEL_TOOLS_REFERENCE_STREAM_RUNS_H_
#define RUNNEL_TOOLS_REFERENCE_STREAM_RUNS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "encoder/encoder.h"
#include "frontend/features/frame_extractor.h"
#include "tools/reference/torchscript_model.h"
#include "tools/verification/setting.h"

namespace runnel {

// `features` is (T, input_dim) float32. Results are (T', model_dim), unless stated otherwise.

// The whole utterance in one pass under the chunk mask.
at::Tensor RunUnderMask(const Encoder& encoder, const at::Tensor& features,
                        const StreamingSetting& setting, const LayerObserver& observer = nullptr);

// The windows of a setting with right context. `run_whole` computes the rows of the feature frames
// of a window, (n, input_dim), as of a whole utterance.
at::Tensor RunWindows(const SubsamplingGeometry& geometry, const at::Tensor& features,
                      const StreamingSetting& setting,
                      const std::function<at::Tensor(const at::Tensor&)>& run_whole);

// One chunk, or window, after the other.
at::Tensor RunChunked(const Encoder& encoder, const at::Tensor& features,
                      const StreamingSetting& setting, const LayerObserver& observer = nullptr);

// One stream per setting, all of the same features, in ragged batches: a random subset of the
// streams advances at every step. Results come in the order of `settings`.
std::vector<at::Tensor> RunBatched(const Encoder& encoder, const at::Tensor& features,
                                   const std::vector<StreamingSetting>& settings,
                                   std::mt19937_64* random);

// Chunk by chunk. The state is copied at a random chunk, after which the original and the copy
// advance in turn. Returns the results of the original and of the copy.
std::vector<at::Tensor> RunCopied(const Encoder& encoder, const at::Tensor& features,
                                  const StreamingSetting& setting, std::mt19937_64* random);

// From samples that arrive in packets of random size. A chunk is computed as soon as its frames are
// complete.
at::Tensor RunPackets(const Encoder& encoder,
                      const std::shared_ptr<const FrameExtractor>& extractor, float sample_scale,
                      const std::vector<float>& samples, const StreamingSetting& setting,
                      std::mt19937_64* random);

// The TorchScript program, one chunk after the other. Returns (T', vocab_size) log probabilities.
at::Tensor RunTorchScriptChunked(const TorchScriptModel& model, const at::Tensor& features,
                                 const StreamingSetting& setting);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_REFERENCE_STREAM_RUNS_H_
