// Measures durations and summarises them.
#ifndef RUNNEL_TOOLS_BENCHMARK_DURATIONS_H_
#define RUNNEL_TOOLS_BENCHMARK_DURATIONS_H_

#include <chrono>
#include <vector>

namespace runnel {

struct DurationSummary {
  double median_ms = 0;
  double p95_ms = 0;
  double min_ms = 0;
};

// Exact quantiles. The median of an even number of values is the mean of the middle two. All are
// zero for an empty list.
DurationSummary Summarize(std::vector<double> milliseconds);

// Runs `work` and returns its duration.
template <typename Work>
double MillisecondsOf(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  return elapsed.count();
}

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_DURATIONS_H_
