// Hands out recordings to worker threads, never far ahead of the oldest one still being decoded.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_WORK_QUEUE_H_
#define RUNNEL_TOOLS_WORK_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>

namespace runnel {

// Thread-safe. Since items are handed out in order and at most `window` beyond the oldest
// unfinished one, at most `window` results ever wait for an earlier one.
class WorkQueue {
 public:
  // Items 0 .. num_items-1; `window` at least 1.
  WorkQueue(size_t num_items, size_t window);

  // The next item, or none when there are none left or Stop was called. Where the window is
  // exhausted: with `wait`, waits until it moves; otherwise none. Only a worker that holds no item
  // may wait, lest it wait for itself.
  std::optional<size_t> Take(bool wait);

  // `item` was taken and is done with.
  void Finish(size_t item);

  // Nothing more is handed out.
  void Stop();
  bool stopped() const;

 private:
  bool WindowExhausted() const;

  const size_t num_items_;
  const size_t window_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  size_t next_ = 0;
  std::set<size_t> in_work_;
  bool stopped_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_WORK_QUEUE_H_
