#include "tools/benchmark/durations.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace runnel {

DurationSummary Summarize(std::vector<double> milliseconds) {
  if (milliseconds.empty()) return {};
  std::sort(milliseconds.begin(), milliseconds.end());
  const size_t size = milliseconds.size();
  const auto rank = static_cast<size_t>(std::ceil(0.95 * static_cast<double>(size)));
  return {(milliseconds[(size - 1) / 2] + milliseconds[size / 2]) / 2, milliseconds[rank - 1],
          milliseconds.front()};
}

}  // namespace runnel
