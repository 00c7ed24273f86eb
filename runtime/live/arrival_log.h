// When the samples of a stream arrived, for measuring how long its results take.
// Flow: packets -> frontend -> encoder -> runtime (this, below live_stream) -> tools.
#ifndef RUNNEL_RUNTIME_ARRIVAL_LOG_H_
#define RUNNEL_RUNTIME_ARRIVAL_LOG_H_

#include <chrono>
#include <cstdint>
#include <deque>

namespace runnel {

// Samples are counted from any fixed point. Arrivals within a millisecond are one entry, with the
// time of the first, so that memory follows time and not the number of packets. Not thread-safe.
class ArrivalLog {
 public:
  using Clock = std::chrono::steady_clock;

  // `end`: samples that have arrived by `time`, more than before.
  void Add(int64_t end, Clock::time_point time);

  // When the sample with this index arrived, which must be one that has and that is not forgotten.
  Clock::time_point TimeOf(int64_t sample) const;

  // Forgets the samples before this one.
  void Forget(int64_t before);

 private:
  struct Arrival {
    int64_t end;
    Clock::time_point time;
  };
  std::deque<Arrival> arrivals_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_ARRIVAL_LOG_H_
