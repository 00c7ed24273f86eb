// The baseline of bench_encoder: the TorchScript of a model file, run by LibTorch.
#ifndef RUNNEL_TOOLS_BENCHMARK_BASELINE_H_
#define RUNNEL_TOOLS_BENCHMARK_BASELINE_H_

#include <memory>
#include <optional>
#include <string>

#include "encoder/encoder_config.h"
#include "runtime/streaming_config.h"
#include "tools/benchmark/feature_pool.h"

namespace runnel {

// One stream in the steady state. Used by one thread at a time.
class BaselineStream {
 public:
  virtual ~BaselineStream() = default;

  // Computes one chunk.
  virtual void Step() = 0;
};

// Shared by all streams of a process.
class Baseline {
 public:
  virtual ~Baseline() = default;

  // A stream whose caches are full. The baseline and `pool` must outlive it.
  virtual std::unique_ptr<BaselineStream> MakeStream(const FeaturePool* pool,
                                                     const StreamingSetting& setting) const = 0;
};

// The forward_chunk of a model file. Throws std::runtime_error where the reference is not installed
// (runtime/model/reference_component.h), and when LibTorch cannot load the file.
std::unique_ptr<const Baseline> LoadBaseline(const std::string& model_path,
                                             const EncoderConfig& config);

// The version of LibTorch, if the reference was loaded before.
std::optional<std::string> LoadedLibTorchVersion();

}  // namespace runnel

// Of the reference. The baseline belongs to the caller.
extern "C" const runnel::Baseline* runnel_reference_baseline(const std::string& model_path,
                                                             const runnel::EncoderConfig& config);
extern "C" const char* runnel_reference_libtorch_version();

#endif  // RUNNEL_TOOLS_BENCHMARK_BASELINE_H_
