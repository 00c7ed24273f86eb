// Quantiles of durations in constant memory, however many there are.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools.
#ifndef RUNNEL_RUNTIME_LATENCY_HISTOGRAM_H_
#define RUNNEL_RUNTIME_LATENCY_HISTOGRAM_H_

#include <cstdint>
#include <vector>

namespace runnel {

// Counts per range of durations, each range 1 % wider than the one before: a quantile is within 0.5
// % of the true one between a microsecond and an hour. Not thread-safe: one per thread, then Merge.
class LatencyHistogram {
 public:
  LatencyHistogram();

  // `count` durations of `milliseconds` (at least 0).
  void Add(double milliseconds, int64_t count = 1);
  void Merge(const LatencyHistogram& other);

  // The duration that a share `quantile` (0 to 1) of all do not exceed, in milliseconds; 0 when
  // there is none.
  double QuantileMs(double quantile) const;

  int64_t count() const { return count_; }

 private:
  std::vector<int64_t> counts_;
  int64_t count_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LATENCY_HISTOGRAM_H_
