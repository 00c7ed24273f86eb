#include "tools/decode/work_queue.h"

#include <algorithm>

namespace runnel {

WorkQueue::WorkQueue(size_t num_items, size_t window)
    : num_items_(num_items), window_(std::max<size_t>(window, 1)) {}

bool WorkQueue::WindowExhausted() const {
  return !in_work_.empty() && next_ - *in_work_.begin() >= window_;
}

std::optional<size_t> WorkQueue::Take(bool wait) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto may_go_on = [this] { return stopped_ || next_ == num_items_ || !WindowExhausted(); };
  if (wait) changed_.wait(lock, may_go_on);
  if (stopped_ || next_ == num_items_ || WindowExhausted()) return std::nullopt;
  in_work_.insert(next_);
  return next_++;
}

void WorkQueue::Finish(size_t item) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    in_work_.erase(item);
  }
  changed_.notify_all();
}

void WorkQueue::Stop() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
}

bool WorkQueue::stopped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return stopped_;
}

}  // namespace runnel
