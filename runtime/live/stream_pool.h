// The live streams of one recognizer, and the queue of those whose next chunk waits for a worker.
#ifndef RUNNEL_RUNTIME_LIVE_STREAM_POOL_H_
#define RUNNEL_RUNTIME_LIVE_STREAM_POOL_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "runtime/live/batch_queue.h"
#include "runtime/live/chunk_growth.h"
#include "runtime/live_stream.h"

namespace runnel {

struct RecognizerOptions;

// Shared by the workers and by every live stream, which may outlive them. Thread-safe. Does not own
// the streams.
class StreamPool {
 public:
  using Clock = std::chrono::steady_clock;

  // `options` are valid. `clock` is the time of latencies and load; only tests have another one.
  explicit StreamPool(const RecognizerOptions& options,
                      std::function<Clock::time_point()> clock = &Clock::now);

  // Throws std::invalid_argument after Close.
  void Add(const std::shared_ptr<LiveStream>& stream);
  // To be called once for each stream, when it is over.
  void Remove(const LiveStream* stream);
  // Cancels the streams that are left; Add throws from now on.
  void Close();

  // The streams with a chunk to decode.
  BatchQueue<std::weak_ptr<LiveStream>>& queue() { return queue_; }
  const BatchQueue<std::weak_ptr<LiveStream>>& queue() const { return queue_; }

  // RecognizerOptions::max_buffered_s.
  double max_buffered_s() const { return max_buffered_s_; }
  size_t num_streams() const;

  Clock::time_point now() const { return clock_(); }

  // By how much chunks grow now.
  ChunkGrowth& growth() { return growth_; }
  // The chunks of a stream have grown by `factor`; 1 when it is added. Ignored after Remove.
  void SetFactor(const LiveStream* stream, int factor);
  // The number of streams by this factor, for each factor that growth() may have.
  std::map<int, int64_t> StreamsByFactor() const;

 private:
  struct Member {
    std::weak_ptr<LiveStream> stream;
    int factor;
  };

  const double max_buffered_s_;
  const std::function<Clock::time_point()> clock_;
  ChunkGrowth growth_;
  BatchQueue<std::weak_ptr<LiveStream>> queue_;

  mutable std::mutex mutex_;  // guards what follows
  std::unordered_map<const LiveStream*, Member> streams_;
  bool is_closed_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_STREAM_POOL_H_
