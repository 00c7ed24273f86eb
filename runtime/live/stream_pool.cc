#include "runtime/live/stream_pool.h"

#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/recognizer.h"

namespace runnel {
namespace {

using Queue = BatchQueue<std::weak_ptr<LiveStream>>;

Queue::Clock::duration FromMilliseconds(double milliseconds) {
  return std::chrono::duration_cast<Queue::Clock::duration>(
      std::chrono::duration<double, std::milli>(milliseconds));
}

}  // namespace

StreamPool::StreamPool(const RecognizerOptions& options)
    : max_buffered_s_(options.max_buffered_s),
      queue_(static_cast<size_t>(options.max_batch_streams),
             FromMilliseconds(options.max_batch_wait_ms)) {}

void StreamPool::Add(const std::shared_ptr<LiveStream>& stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_closed_) throw std::invalid_argument("the Recognizer of this stream is gone");
  streams_.emplace(stream.get(), stream);
}

void StreamPool::Remove(const LiveStream* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  streams_.erase(stream);
}

void StreamPool::Close() {
  std::vector<std::shared_ptr<LiveStream>> left;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_closed_ = true;
    for (const auto& [address, stream] : streams_) {
      if (std::shared_ptr<LiveStream> live = stream.lock()) left.push_back(std::move(live));
    }
  }
  for (const std::shared_ptr<LiveStream>& live : left) live->Cancel();
}

size_t StreamPool::num_streams() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return streams_.size();
}

}  // namespace runnel
