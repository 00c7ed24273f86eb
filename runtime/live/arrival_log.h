// The arrival times of a stream's samples, from which the latency of its chunks is measured.
#ifndef RUNNEL_RUNTIME_LIVE_ARRIVAL_LOG_H_
#define RUNNEL_RUNTIME_LIVE_ARRIVAL_LOG_H_

#include <chrono>
#include <cstdint>
#include <deque>

namespace runnel {

// Samples are counted from any fixed point. Arrivals within a millisecond share one entry, with the
// time of the first, so that memory grows with time and not with the number of packets. Not
// thread-safe.
class ArrivalLog {
 public:
  using Clock = std::chrono::steady_clock;

  // `end`: the number of samples that have arrived by `time`. One that is not larger than before
  // replaces the one before: that of samples for which there was no memory.
  void Add(int64_t end, Clock::time_point time);

  // When the sample with this index arrived. It must have arrived and not be forgotten.
  Clock::time_point TimeOf(int64_t sample) const;

  // Forgets the samples with a lower index.
  void Forget(int64_t before);

 private:
  struct Arrival {
    int64_t end;
    Clock::time_point time;
  };
  std::deque<Arrival> arrivals_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_ARRIVAL_LOG_H_
