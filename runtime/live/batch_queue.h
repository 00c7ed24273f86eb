// The queue of streams with a chunk to decode, and the decision when their next batch starts.
#ifndef RUNNEL_RUNTIME_LIVE_BATCH_QUEUE_H_
#define RUNNEL_RUNTIME_LIVE_BATCH_QUEUE_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace runnel {

// First in, first out. The deadline of an item is `max_wait` after its Push, so the item with the
// oldest deadline is taken first. An item has a size, and those of a batch are bounded.
// Thread-safe.
template <class Item>
class BatchQueue {
 public:
  using Clock = std::chrono::steady_clock;

  // max_size: largest sum of the sizes of a batch, at least 1. A larger item is a batch by itself.
  BatchQueue(size_t max_size, Clock::duration max_wait)
      : max_size_(max_size), max_wait_(max_wait) {}

  // size: at least 1.
  void Push(Item item, size_t size = 1) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      waiting_.push_back({std::move(item), size, Clock::now() + max_wait_});
      waiting_size_ += size;
    }
    changed_.notify_one();
  }

  // Waits until there are items of max_size or the oldest deadline has come, then takes at most
  // that. The result is empty only after Stop.
  std::vector<Item> Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopped_ && !BatchIsDue()) {
      if (waiting_.empty()) {
        changed_.wait(lock);
      } else {
        // A copy: another worker may take the item meanwhile.
        const auto deadline = waiting_.front().deadline;
        changed_.wait_until(lock, deadline);
      }
    }
    std::vector<Item> batch;
    if (stopped_) return batch;
    size_t left = std::max(max_size_, waiting_.front().size);
    while (!waiting_.empty() && waiting_.front().size <= left) {
      left -= waiting_.front().size;
      waiting_size_ -= waiting_.front().size;
      batch.push_back(std::move(waiting_.front().item));
      waiting_.pop_front();
    }
    // This thread no longer waits for the deadline of the items that are left; another must.
    if (!waiting_.empty()) changed_.notify_one();
    return batch;
  }

  // From now on Take returns an empty batch at once. Waiting items are dropped.
  void Stop() {
    std::deque<Waiting> dropped;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
      dropped.swap(waiting_);
      waiting_size_ = 0;
    }
    changed_.notify_all();
  }

  size_t size() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waiting_.size();
  }

 private:
  struct Waiting {
    Item item;
    size_t size;
    Clock::time_point deadline;
  };

  bool BatchIsDue() const {
    return waiting_size_ >= max_size_ ||
           (!waiting_.empty() && waiting_.front().deadline <= Clock::now());
  }

  const size_t max_size_;
  const Clock::duration max_wait_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  size_t waiting_size_ = 0;
  bool stopped_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_BATCH_QUEUE_H_
