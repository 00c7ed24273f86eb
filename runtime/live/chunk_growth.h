// The policy of RecognizerOptions::max_chunk_factor: by how much chunks grow under load.
#ifndef RUNNEL_RUNTIME_LIVE_CHUNK_GROWTH_H_
#define RUNNEL_RUNTIME_LIVE_CHUNK_GROWTH_H_

#include <chrono>
#include <map>
#include <mutex>

namespace runnel {

// What a batch says about the load.
struct BatchLoad {
  double busy_s = 0;   // that it kept its worker busy, callbacks included
  double audio_s = 0;  // that its chunks advanced their streams by
  int num_chunks = 0;
  // The sum over its chunks of their lag: the time that a chunk waited in the queue longer than
  // max_batch_wait_ms, as a share of the duration of a chunk of its stream that has not grown. A
  // stream that arrives in real time falls behind when its lag nears 1.
  double lag = 0;
};

// Looks at the batches of one second at a time. The factor doubles when the workers are busy and
// chunks lag behind. It halves when the workers would not be busy with smaller chunks either: the
// time that these take was measured when the chunks grew. After a change, it stays until the chunks
// of all streams have the new size. Reads no clock: callers say what time it is. Thread-safe.
class ChunkGrowth {
 public:
  using Clock = std::chrono::steady_clock;

  // Of the workers' time: at least, and at most, when the factor doubles or halves.
  static constexpr double kBusy = 0.8;
  static constexpr double kIdle = 0.7;
  // The mean lag above which it doubles.
  static constexpr double kLag = 0.2;
  static constexpr std::chrono::milliseconds kWindow{1000};
  static constexpr std::chrono::milliseconds kSettling{3000};

  // max_factor: 1, 2 or 4. num_threads: of the workers.
  ChunkGrowth(int max_factor, int num_threads, Clock::time_point now);

  int max_factor() const { return max_factor_; }

  // A batch has ended.
  void Add(const BatchLoad& load, Clock::time_point now);

  // 1 to max_factor, a power of two.
  int Factor(Clock::time_point now);

 private:
  void EndWindow(Clock::time_point now);
  void Decide(double elapsed_s);

  const int max_factor_;
  const int num_threads_;

  std::mutex mutex_;  // guards what follows
  int factor_ = 1;
  BatchLoad load_;  // of the window
  Clock::time_point window_begin_;
  // busy_s / audio_s before the factor doubled; 0 when `savings_` has it already.
  double cost_before_ = 0;
  // By factor: how many times the computing time is with chunks of half the size.
  std::map<int, double> savings_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_CHUNK_GROWTH_H_
