// What a process spends before it decodes at full speed.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_BENCHMARK_STARTUP_H_
#define RUNNEL_TOOLS_BENCHMARK_STARTUP_H_

#include <memory>
#include <string>

#include "runtime/model.h"
#include "runtime/model_config.h"
#include "tools/benchmark/feature_pool.h"

namespace runnel {

struct Startup {
  double load_seconds = 0;  // Model::Load
  double first_chunk_ms = 0;
  double later_chunk_ms = 0;  // median, with full caches
};

// To be called before the model has computed anything. One stream, on the calling thread.
Startup MeasureStartup(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
                       const StreamingSetting& setting, double load_seconds);

// One line.
std::string StartupLine(const Startup& startup);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_STARTUP_H_
