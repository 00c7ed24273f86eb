#include "runtime/live/arrival_log.h"

#include <algorithm>
#include <stdexcept>

namespace runnel {
namespace {

constexpr std::chrono::milliseconds kResolution(1);

}  // namespace

void ArrivalLog::Add(int64_t end, Clock::time_point time) {
  if (!arrivals_.empty() &&
      (end <= arrivals_.back().end || time - arrivals_.back().time < kResolution)) {
    arrivals_.back().end = end;
  } else {
    arrivals_.push_back({end, time});
  }
}

ArrivalLog::Clock::time_point ArrivalLog::TimeOf(int64_t sample) const {
  const auto found =
      std::upper_bound(arrivals_.begin(), arrivals_.end(), sample,
                       [](int64_t index, const Arrival& arrival) { return index < arrival.end; });
  if (found == arrivals_.end()) throw std::logic_error("a sample that has not arrived");
  return found->time;
}

void ArrivalLog::Forget(int64_t before) {
  while (!arrivals_.empty() && arrivals_.front().end <= before) arrivals_.pop_front();
}

}  // namespace runnel
