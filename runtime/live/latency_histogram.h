// Quantiles of any number of durations in constant memory.
#ifndef RUNNEL_RUNTIME_LIVE_LATENCY_HISTOGRAM_H_
#define RUNNEL_RUNTIME_LIVE_LATENCY_HISTOGRAM_H_

#include <cstdint>
#include <vector>

namespace runnel {

// Counts durations in ranges, each 1 % wider than the one before. Between a microsecond and an hour
// a quantile is within 0.5 % of the exact one. Not thread-safe: use one per thread, then Merge.
class LatencyHistogram {
 public:
  LatencyHistogram();

  // `count` durations of `milliseconds` (at least 0).
  void Add(double milliseconds, int64_t count = 1);
  void Merge(const LatencyHistogram& other);

  // The duration in milliseconds that a share `quantile` (0 to 1) of all durations does not exceed.
  // 0 when there are no durations.
  double QuantileMs(double quantile) const;

  int64_t count() const { return count_; }

 private:
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_LATENCY_HISTOGRAM_H_
