#include "runtime/live/stream_pool.h"

#include <chrono>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/recognizer.h"

namespace runnel {
namespace {

StreamPool::Clock::duration FromMilliseconds(double milliseconds) {
  return std::chrono::duration_cast<StreamPool::Clock::duration>(
      std::chrono::duration<double, std::milli>(milliseconds));
}

}  // namespace

StreamPool::StreamPool(const RecognizerOptions& options, std::function<Clock::time_point()> clock)
    : max_buffered_s_(options.max_buffered_s),
      clock_(std::move(clock)),
      queue_(static_cast<size_t>(options.max_batch_streams),
             FromMilliseconds(options.max_batch_wait_ms), clock_) {}

void StreamPool::Add(const std::shared_ptr<LiveStream>& stream, const std::string& account) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_closed_) throw std::invalid_argument("the Recognizer of this stream is gone");
  int64_t& num_streams = accounts_[account];
  streams_.emplace(stream.get(), Member{stream, account});
  if (++num_streams == 1) BoundBatches();
}

void StreamPool::Remove(const LiveStream* stream) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return;
  const auto account = accounts_.find(found->second.account);
  if (--account->second == 0) {
    accounts_.erase(account);
    BoundBatches();
  }
  streams_.erase(found);
}

void StreamPool::BoundBatches() {
  queue_.SetMostCost(accounts_.size() > 1 ? kSharedBatchS : Queue::kAnyCost);
}

void StreamPool::Close() {
  std::vector<std::shared_ptr<LiveStream>> left;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_closed_ = true;
    for (const auto& [address, member] : streams_) {
      if (std::shared_ptr<LiveStream> live = member.stream.lock()) left.push_back(std::move(live));
    }
  }
  for (const std::shared_ptr<LiveStream>& live : left) live->Cancel();
}

size_t StreamPool::num_streams() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return streams_.size();
}

}  // namespace runnel
