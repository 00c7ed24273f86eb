// Hands out recordings to worker threads, never far ahead of the oldest unfinished one.
#ifndef RUNNEL_TOOLS_DECODE_WORK_QUEUE_H_
#define RUNNEL_TOOLS_DECODE_WORK_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <set>

namespace runnel {

// Thread-safe. Items are handed out in order and at most `window` beyond the oldest unfinished one,
// so at most `window` results wait for an earlier one.
class WorkQueue {
 public:
  // Items 0 .. num_items-1; `window` at least 1.
  WorkQueue(size_t num_items, size_t window);

  // The next item; no value when no item is left or Stop was called. If the window is exhausted,
  // waits until it moves or, without `wait`, returns no value. Only a worker that holds no item may
  // wait; otherwise it could wait for itself.
  std::optional<size_t> Take(bool wait);

  // Marks a taken item as finished.
  void Finish(size_t item);

  // Hands out no more items.
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

#endif  // RUNNEL_TOOLS_DECODE_WORK_QUEUE_H_
