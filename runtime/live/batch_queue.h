// The queue of streams with a chunk to decode, and the decision when their next batch starts.
#ifndef RUNNEL_RUNTIME_LIVE_BATCH_QUEUE_H_
#define RUNNEL_RUNTIME_LIVE_BATCH_QUEUE_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "runtime/live/fair_queue.h"

namespace runnel {

// When a batch starts is decided by deadlines: that of an item is `max_wait` after its Push. The
// items of a batch are taken in the turns of FairQueue: those of one account first in, first out,
// so with one account in all the oldest deadline comes first. An item has a cost, and the sum of a
// batch is bounded. Thread-safe.
template <class Item>
class BatchQueue {
 public:
  using Clock = std::chrono::steady_clock;

  static constexpr double kAnyCost = std::numeric_limits<double>::infinity();

  // max_items: most items of a batch, at least 1.
  BatchQueue(size_t max_items, Clock::duration max_wait)
      : max_items_(max_items), max_wait_(max_wait) {}

  // cost: the seconds that it is expected to take, above 0. After std::bad_alloc nothing is pushed.
  void Push(Item item, const std::string& account = "", double cost = 1) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto deadline =
          deadlines_.emplace_hint(deadlines_.end(), next_, Clock::now() + max_wait_);
      try {
        waiting_.Push(account, {std::move(item), cost, next_}, cost);
      } catch (...) {
        deadlines_.erase(deadline);
        throw;
      }
      ++next_;
    }
    changed_.notify_one();
  }

  // Waits until there are max_items or the oldest deadline has come, then takes at most max_items,
  // and not more than one that exceeds the most cost. The result is empty only after Stop. After
  // std::bad_alloc all items are still there.
  std::vector<Item> Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopped_ && !BatchIsDue()) {
      if (waiting_.empty()) {
        changed_.wait(lock);
      } else {
        // A copy: another worker may take the item meanwhile.
        const auto deadline = deadlines_.begin()->second;
        changed_.wait_until(lock, deadline);
      }
    }
    std::vector<Item> batch;
    if (stopped_) return batch;
    batch.reserve(std::min(max_items_, waiting_.size()));  // an exception loses no item
    double cost = 0;
    while (!waiting_.empty() && batch.size() < max_items_ &&
           (batch.empty() || cost + waiting_.front().cost <= most_cost_)) {
      Waiting next = waiting_.Pop();
      cost += next.cost;
      deadlines_.erase(next.number);
      batch.push_back(std::move(next.item));
    }
    // This thread no longer waits for the deadline of the items that are left; another must.
    if (!waiting_.empty()) changed_.notify_one();
    return batch;
  }

  // An item took `cost` more than its Push said, or less. Moves the next turn of its account.
  void Charge(const std::string& account, double cost) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.Charge(account, cost);
  }

  // The largest sum of the costs of a batch from now on; kAnyCost at first.
  void SetMostCost(double most_cost) {
    const std::lock_guard<std::mutex> lock(mutex_);
    most_cost_ = most_cost;
  }

  // From now on Take returns an empty batch at once. Waiting items are dropped.
  void Stop() {
    FairQueue<Waiting> dropped;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stopped_ = true;
      std::swap(dropped, waiting_);
      deadlines_.clear();
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
    double cost;
    int64_t number;  // of its Push
  };

  bool BatchIsDue() const {
    return waiting_.size() >= max_items_ ||
           (!waiting_.empty() && deadlines_.begin()->second <= Clock::now());
  }

  const size_t max_items_;
  const Clock::duration max_wait_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  FairQueue<Waiting> waiting_;
  std::map<int64_t, Clock::time_point> deadlines_;  // by number, so the oldest is the first
  int64_t next_ = 0;                                // number
  double most_cost_ = kAnyCost;
  bool stopped_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_BATCH_QUEUE_H_
