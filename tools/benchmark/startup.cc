#include "tools/benchmark/startup.h"

#include <cstdio>
#include <vector>

#include "tools/benchmark/durations.h"
#include "tools/benchmark/steady_streams.h"
#include "tools/cli/process.h"

namespace runnel {
namespace {

constexpr int kLaterChunks = 20;

}  // namespace

Startup MeasureStartup(const std::shared_ptr<const Model>& model, const FeaturePool& pool,
                       const StreamingSetting& setting, MeasuredHead head, double load_seconds) {
  SteadyStreams stream(model, &pool, setting, head, 1, 1);
  const auto step_ms = [&] { return MillisecondsOf([&] { stream.Step(); }); };
  Startup startup;
  startup.load_seconds = load_seconds;
  startup.first_chunk_ms = step_ms();
  stream.FillCaches();
  std::vector<double> later_ms(kLaterChunks);
  for (double& ms : later_ms) ms = step_ms();
  startup.later_chunk_ms = Summarize(later_ms).median_ms;
  startup.peak_mb = static_cast<double>(PeakMemoryBytes()) / 1e6;
  return startup;
}

std::string StartupLine(const Startup& startup) {
  char text[200];
  std::snprintf(
      text, sizeof(text),
      "model loaded in %.3f s; first chunk %.3f ms, later ones %.3f ms; peak memory %.1f MB\n",
      startup.load_seconds, startup.first_chunk_ms, startup.later_chunk_ms, startup.peak_mb);
  return text;
}

}  // namespace runnel
