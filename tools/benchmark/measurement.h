// Measures the time of one chunk of many streams in the steady state, and that of the baseline.
#ifndef RUNNEL_TOOLS_BENCHMARK_MEASUREMENT_H_
#define RUNNEL_TOOLS_BENCHMARK_MEASUREMENT_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/model/model_config.h"
#include "tools/benchmark/baseline.h"
#include "tools/benchmark/durations.h"
#include "tools/benchmark/feature_pool.h"
#include "tools/benchmark/matmuls.h"
#include "tools/benchmark/steady_streams.h"

namespace runnel {

struct MeasurementOptions {
  std::string precision;  // for MatmulTimer
  StreamingSetting setting;
  MeasuredHead head = MeasuredHead::kCtc;
  int64_t num_streams = 1;        // of all threads together
  int num_threads = 1;            // at most num_streams; each owns an equal part of the streams
  int64_t max_batch_streams = 0;  // streams of one thread that are decoded together; 0: all
  double seconds = 2;             // of Runnel, and as many of the baseline
};

// All times are those of one chunk of one stream: the time of a step, divided by the batch size.
struct Measurement {
  DurationSummary stream_chunk;
  DurationSummary head;  // the part of stream_chunk that the head takes
  std::optional<DurationSummary> baseline;
  int64_t bytes_per_stream = 0;
  double tokens_per_frame = 0;  // of the transducer's search
  // The large matmuls alone, in one thread; no value where they cannot be timed.
  std::optional<double> matmuls_ms;
};

// Fills all caches, then measures. `baseline`: null, or measured in turns with Runnel (A B A B), so
// that a changing CPU clock affects both alike. Each thread runs one stream of the baseline.
Measurement Measure(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
                    const Baseline* baseline, const MeasurementOptions& options);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_MEASUREMENT_H_
