// The baseline: the archive's own forward_chunk, run by LibTorch, for one stream.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_BENCHMARK_TORCHSCRIPT_STREAM_H_
#define RUNNEL_TOOLS_BENCHMARK_TORCHSCRIPT_STREAM_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>

#include "encoder/encoder_config.h"
#include "runtime/model_config.h"
#include "tools/benchmark/feature_pool.h"

namespace runnel {

// The scripted module of an archive, shared by the streams of all threads.
class TorchScriptArchive {
 public:
  // Throws std::runtime_error when LibTorch cannot load it.
  explicit TorchScriptArchive(const std::string& path);
  ~TorchScriptArchive();
  TorchScriptArchive(const TorchScriptArchive&) = delete;
  TorchScriptArchive& operator=(const TorchScriptArchive&) = delete;

 private:
  friend class TorchScriptStream;
  struct Module;
  std::unique_ptr<Module> module_;
};

// Used by one thread at a time.
class TorchScriptStream {
 public:
  // Starts with full caches, of zeros, so that LibTorch's profiling executor only ever sees, and
  // optimises for, the shapes that are measured. `setting` as of SteadyStreams; `archive` and
  // `pool` must live as long as this.
  TorchScriptStream(const TorchScriptArchive* archive, const FeaturePool* pool,
                    const EncoderConfig& config, const StreamingSetting& setting);

  // Computes one chunk.
  void Step();

 private:
  const TorchScriptArchive* archive_;
  const FeaturePool* pool_;
  SubsamplingGeometry geometry_;
  StreamingSetting setting_;
  int64_t offset_;  // encoder frames before the chunk
  at::Tensor att_cache_;
  at::Tensor cnn_cache_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_TORCHSCRIPT_STREAM_H_
