// The baseline: the forward_chunk of the model file's own TorchScript, run by LibTorch for one
// stream.
#ifndef RUNNEL_TOOLS_BENCHMARK_TORCHSCRIPT_STREAM_H_
#define RUNNEL_TOOLS_BENCHMARK_TORCHSCRIPT_STREAM_H_

#include <cstdint>

#include "encoder/encoder_config.h"
#include "runtime/model/model_config.h"
#include "tools/benchmark/feature_pool.h"
#include "tools/reference/torchscript_model.h"

namespace runnel {

// Used by one thread at a time. `script` may be shared by all streams of a process.
class TorchScriptStream {
 public:
  // Starts with full caches of zeros: LibTorch's profiling executor then sees only the shapes that
  // are measured, and optimises for them. `setting` as of SteadyStreams. `script` and `pool` must
  // outlive the stream.
  TorchScriptStream(const TorchScriptModel* script, const FeaturePool* pool,
                    const EncoderConfig& config, const StreamingSetting& setting);

  // Computes one chunk.
  void Step();

 private:
  const TorchScriptModel* script_;
  const FeaturePool* pool_;
  StreamingSetting setting_;
  int64_t offset_;  // encoder frames before the chunk
  TorchScriptModel::Caches caches_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_TORCHSCRIPT_STREAM_H_
