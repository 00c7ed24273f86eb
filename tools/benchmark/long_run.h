// Decodes hours of one stream as fast as possible and compares the time per chunk at the end with
// that at the beginning.
#ifndef RUNNEL_TOOLS_BENCHMARK_LONG_RUN_H_
#define RUNNEL_TOOLS_BENCHMARK_LONG_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/model.h"
#include "runtime/model/model_config.h"
#include "tools/benchmark/durations.h"
#include "tools/benchmark/feature_pool.h"
#include "tools/benchmark/steady_streams.h"

namespace runnel {

// The chunks that begin in one minute of audio.
struct StreamMinute {
  int64_t minute = 0;  // from 0
  int64_t num_chunks = 0;
  DurationSummary chunk;
  int64_t bytes_per_stream = 0;
  int64_t resident_bytes = 0;  // of the process
};

struct LongRun {
  std::vector<StreamMinute> minutes;
  // Of the first minute, and of the last hour (of the last minute if the run is below two hours).
  DurationSummary first_minute;
  DurationSummary last_hour;
  // Chunks of the old stream and of a new one in turns, after the run: the same comparison without
  // the influence of a changed CPU clock.
  DurationSummary old_stream;
  DurationSummary new_stream;
};

// Caches are filled before minute 0 begins. Calls `on_minute` after each.
LongRun RunForHours(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
                    const StreamingSetting& setting, MeasuredHead head, double hours,
                    const std::function<void(const StreamMinute&)>& on_minute);

// CSV with a header line and one line per minute.
std::string LongRunCsv(const std::vector<StreamMinute>& minutes);

// A few lines for people.
std::string LongRunSummary(const LongRun& run);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_LONG_RUN_H_
