#include "runtime/live/latency_histogram.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace runnel {
namespace {

constexpr double kShortestMs = 1e-3;
constexpr double kLongestMs = 3.6e6;
constexpr double kRatio = 1.01;  // of the ends of a range

size_t RangeOf(double milliseconds) {
  const double clamped = std::clamp(milliseconds, kShortestMs, kLongestMs);
  return static_cast<size_t>(std::log(clamped / kShortestMs) / std::log(kRatio));
}

double MiddleOfRange(size_t range) {
  return kShortestMs * std::pow(kRatio, static_cast<double>(range) + 0.5);
}

}  // namespace

LatencyHistogram::LatencyHistogram() : counts_(RangeOf(kLongestMs) + 1) {}

void LatencyHistogram::Add(double milliseconds, int64_t count) {
  counts_[RangeOf(milliseconds)] += count;
  count_ += count;
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  std::transform(counts_.begin(), counts_.end(), other.counts_.begin(), counts_.begin(),
                 [](int64_t a, int64_t b) { return a + b; });
  count_ += other.count_;
}

double LatencyHistogram::QuantileMs(double quantile) const {
  if (count_ == 0) return 0;
  const auto rank =
      std::max<int64_t>(1, static_cast<int64_t>(std::ceil(quantile * static_cast<double>(count_))));
  int64_t not_longer = 0;
  for (size_t range = 0; range < counts_.size(); ++range) {
    not_longer += counts_[range];
    if (not_longer >= rank) return MiddleOfRange(range);
  }
  return kLongestMs;
}

}  // namespace runnel
