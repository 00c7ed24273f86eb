// The queue of streams with a step to compute, and the decision when their next batch starts.
#ifndef RUNNEL_RUNTIME_LIVE_BATCH_QUEUE_H_
#define RUNNEL_RUNTIME_LIVE_BATCH_QUEUE_H_

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/live/fair_queue.h"

namespace runnel {

// Items are chunks and ends. A chunk waits up to `max_wait` for others to share its batch. One that
// is late does not wait: the audio of the chunk after it is there already, as for a recording. An
// end completes the text of an utterance, for which somebody waits: its batch starts at once, and
// has ends only.
//
// Accounts take turns (FairQueue). The items of an account are taken by their deadlines. That of an
// end is the time of its Push, that of a chunk is kChunkPatience later. A chunk thus waits for no
// end that comes after its deadline. Its ends get an account ahead of its share by kHeadStartS at
// most.
//
// An item has a cost, and the sum of a batch is bounded. Thread-safe.
template <class Item>
class BatchQueue {
 public:
  using Clock = std::chrono::steady_clock;

  enum class Kind { kChunk, kLateChunk, kEnd };

  static constexpr double kAnyCost = std::numeric_limits<double>::infinity();
  static constexpr std::chrono::milliseconds kChunkPatience{250};
  static constexpr double kHeadStartS = 0.1;  // of computing time

  // Names an item that waits.
  struct Ticket {
    Kind kind = Kind::kChunk;
    FairTicket place;
    Clock::time_point start_by;
  };

  // max_items: most items of a batch, at least 1. `clock`: only tests have another one, and take
  // batches that need not wait.
  BatchQueue(size_t max_items, Clock::duration max_wait,
             std::function<Clock::time_point()> clock = &Clock::now)
      : max_items_(max_items), max_wait_(max_wait), clock_(std::move(clock)) {}

  // cost: the seconds that it is expected to take, above 0. After std::bad_alloc nothing is pushed.
  Ticket Push(Item item, const std::string& account = "", double cost = 1,
              Kind kind = Kind::kChunk) {
    Ticket ticket;
    ticket.kind = kind;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const Clock::time_point now = clock_();
      ticket.start_by = kind == Kind::kChunk ? now + max_wait_ : now;
      const auto start = starts_.insert(ticket.start_by);
      try {
        ticket.place = waiting_.Push(account, {std::move(item), cost, ticket.start_by, kind}, cost,
                                     kind == Kind::kEnd ? FairPlace{Rank(now), kHeadStartS}
                                                        : FairPlace{Rank(now + kChunkPatience), 0});
      } catch (...) {
        starts_.erase(start);
        throw;
      }
    }
    changed_.notify_one();
    return ticket;
  }

  // The item is of a later kind from now on. No effect when it is of that kind or a later one
  // already, or does not wait any more.
  void Hurry(const std::string& account, Kind kind, Ticket* ticket) {
    if (kind <= ticket->kind) return;
    ticket->kind = kind;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const Clock::time_point now = clock_();
      FairPlace place{ticket->place.rank, 0};
      if (kind == Kind::kEnd) place = {std::min(place.rank, Rank(now)), kHeadStartS};
      Waiting* const waiting = waiting_.Move(account, place, &ticket->place);
      if (waiting == nullptr) return;
      auto start = starts_.extract(starts_.find(ticket->start_by));
      ticket->start_by = waiting->start_by = start.value() = std::min(ticket->start_by, now);
      starts_.insert(std::move(start));
      waiting->kind = kind;
    }
    changed_.notify_one();
  }

  // Waits until a batch is due: there is an end or a late chunk, or there are max_items, or the
  // oldest chunk has waited for max_wait. Then takes at most max_items, chunks or ends, and not
  // more than one that exceeds the most cost. The result is empty only after Stop. After
  // std::bad_alloc all items are still there.
  std::vector<Item> Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopped_ && !BatchIsDue()) {
      if (waiting_.empty()) {
        changed_.wait(lock);
      } else {
        // A copy: another worker may take the item meanwhile.
        const auto start = *starts_.begin();
        changed_.wait_until(lock, start);
      }
    }
    std::vector<Item> batch;
    if (stopped_) return batch;
    batch.reserve(std::min(max_items_, waiting_.size()));  // an exception loses no item
    const auto is_end = [this] { return waiting_.front().kind == Kind::kEnd; };
    const bool takes_ends = is_end();
    double cost = 0;
    while (!waiting_.empty() && batch.size() < max_items_ && is_end() == takes_ends &&
           (batch.empty() || cost + waiting_.front().cost <= most_cost_)) {
      Waiting next = waiting_.Pop();
      cost += next.cost;
      starts_.erase(starts_.find(next.start_by));
      batch.push_back(std::move(next.item));
    }
    // This thread no longer waits for the start of the items that are left; another must.
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
      starts_.clear();
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
    Clock::time_point start_by;
    Kind kind;
  };

  static int64_t Rank(Clock::time_point deadline) { return deadline.time_since_epoch().count(); }

  bool BatchIsDue() const {
    return waiting_.size() >= max_items_ || (!waiting_.empty() && *starts_.begin() <= clock_());
  }

  const size_t max_items_;
  const Clock::duration max_wait_;
  const std::function<Clock::time_point()> clock_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  FairQueue<Waiting> waiting_;
  std::multiset<Clock::time_point> starts_;  // start_by of those that wait
  double most_cost_ = kAnyCost;
  bool stopped_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_BATCH_QUEUE_H_
