// Ways to run the encoder over one recording that must all give the same encoder frames.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_VERIFICATION_STREAM_RUNS_H_
#define RUNNEL_TOOLS_VERIFICATION_STREAM_RUNS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "encoder/encoder.h"
#include "frontend/frame_extractor.h"
#include "tools/verification/setting.h"

namespace runnel {

// All results are (T', model_dim); `features` is (T, input_dim) float32.

// One chunk after the other.
at::Tensor RunChunked(const Encoder& encoder, const at::Tensor& features,
                      const StreamingSetting& setting, const LayerObserver& observer = nullptr);

// One stream per setting, all of the same features, in ragged batches: at every step a random
// choice of the streams advances. Results in the order of `settings`.
std::vector<at::Tensor> RunBatched(const Encoder& encoder, const at::Tensor& features,
                                   const std::vector<StreamingSetting>& settings,
                                   std::mt19937_64* random);

// Chunk by chunk; at a random chunk the state is copied, and from there the two advance in turn.
// Returns what the original and what the copy gave.
std::vector<at::Tensor> RunCopied(const Encoder& encoder, const at::Tensor& features,
                                  const StreamingSetting& setting, std::mt19937_64* random);

// From samples that arrive in packets of random size; a chunk is computed as soon as its frames are
// there.
at::Tensor RunPackets(const Encoder& encoder,
                      const std::shared_ptr<const FrameExtractor>& extractor, float sample_scale,
                      const std::vector<float>& samples, const StreamingSetting& setting,
                      std::mt19937_64* random);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_VERIFICATION_STREAM_RUNS_H_
