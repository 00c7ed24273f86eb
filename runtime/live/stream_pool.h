// The live streams of one recognizer, and the queue of those whose next chunk waits for a worker.
#ifndef RUNNEL_RUNTIME_LIVE_STREAM_POOL_H_
#define RUNNEL_RUNTIME_LIVE_STREAM_POOL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "runtime/live/batch_queue.h"
#include "runtime/live/step_cost.h"
#include "runtime/live_stream.h"

namespace runnel {

struct RecognizerOptions;

// Shared by the workers and by every live stream, which may outlive them. Thread-safe. Does not own
// the streams.
class StreamPool {
 public:
  using Clock = std::chrono::steady_clock;
  using Queue = BatchQueue<std::weak_ptr<LiveStream>>;

  // `options` are valid. `clock` is the time of latencies, costs and deadlines; only tests have
  // another one (BatchQueue).
  explicit StreamPool(const RecognizerOptions& options,
                      std::function<Clock::time_point()> clock = &Clock::now);

  // What a batch is expected to take at most while several accounts have streams, in seconds; a
  // longer chunk is a batch by itself. A chunk of one account waits so long for a batch of others.
  static constexpr double kSharedBatchS = 0.1;

  // Throws std::invalid_argument after Close.
  void Add(const std::shared_ptr<LiveStream>& stream, const std::string& account);
  // To be called once for each stream, when it is over.
  void Remove(const LiveStream* stream);
  // Cancels the streams that are left; Add throws from now on.
  void Close();

  // The streams with a step to compute.
  Queue& queue() { return queue_; }
  const Queue& queue() const { return queue_; }

  // RecognizerOptions::max_buffered_s.
  double max_buffered_s() const { return max_buffered_s_; }
  size_t num_streams() const;

  Clock::time_point now() const { return clock_(); }

  // What steps are expected to take.
  ComputeRate& rate() { return rate_; }

 private:
  void BoundBatches();

  struct Member {
    std::weak_ptr<LiveStream> stream;
    std::string account;
  };

  const double max_buffered_s_;
  const std::function<Clock::time_point()> clock_;
  ComputeRate rate_;
  Queue queue_;

  mutable std::mutex mutex_;  // guards what follows
  std::unordered_map<const LiveStream*, Member> streams_;
  std::unordered_map<std::string, int64_t> accounts_;  // number of streams
  bool is_closed_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_STREAM_POOL_H_
