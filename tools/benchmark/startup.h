// Measures the start of a process: loading a model, the first chunk, and later ones.
#ifndef RUNNEL_TOOLS_BENCHMARK_STARTUP_H_
#define RUNNEL_TOOLS_BENCHMARK_STARTUP_H_

#include <memory>
#include <string>

#include "runtime/model.h"
#include "runtime/model/model_config.h"
#include "tools/benchmark/feature_pool.h"
#include "tools/benchmark/steady_streams.h"

namespace runnel {

struct Startup {
  double load_seconds = 0;  // Model::Load
  double first_chunk_ms = 0;
  double later_chunk_ms = 0;  // median, with full caches
  double peak_mb = 0;         // resident memory of the process, 10^6 bytes
};

// Measures one stream on the calling thread. The model must not have computed anything before.
Startup MeasureStartup(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
                       const StreamingSetting& setting, MeasuredHead head, double load_seconds);

// One line.
std::string StartupLine(const Startup& startup);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_STARTUP_H_
