// The time of one chunk of many streams in the steady state, and of the baseline beside it.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_BENCHMARK_MEASUREMENT_H_
#define RUNNEL_TOOLS_BENCHMARK_MEASUREMENT_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/model_config.h"
#include "tools/benchmark/durations.h"
#include "tools/benchmark/feature_pool.h"
#include "tools/benchmark/products.h"

namespace runnel {

class TorchScriptArchive;

struct MeasurementOptions {
  std::string precision;  // for ProductTimer
  StreamingSetting setting;
  int64_t num_streams = 1;        // of all threads together
  int num_threads = 1;            // at most num_streams; each owns an equal part of the streams
  int64_t max_batch_streams = 0;  // of a thread's that are decoded together; 0: all
  double seconds = 2;             // measured, and as long again for the baseline
};

// All times are those of one chunk of one stream: a step of a batch, divided by its streams.
struct Measurement {
  DurationSummary stream_chunk;
  std::optional<DurationSummary> baseline;
  int64_t bytes_per_stream = 0;
  // Of the large products alone, in one thread; no value where they cannot be timed.
  std::optional<std::array<double, kNumProductParts>> products_ms;
};

// Fills all caches, then times. With `baseline` both are timed in turns, A B A B, each thread
// running a stream of its own in LibTorch, so that a clock that changes meets both.
Measurement Measure(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
                    const TorchScriptArchive* baseline, const MeasurementOptions& options);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_MEASUREMENT_H_
