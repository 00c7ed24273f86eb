// The samples of a live stream that wait to be decoded.
#ifndef RUNNEL_RUNTIME_LIVE_SAMPLE_QUEUE_H_
#define RUNNEL_RUNTIME_LIVE_SAMPLE_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <vector>

namespace runnel {

// First in, first out; O(1) per sample. Frees its memory when it is empty. A value.
class SampleQueue {
 public:
  size_t size() const { return samples_.size() - head_; }

  void Append(const float* samples, size_t count) {
    samples_.insert(samples_.end(), samples, samples + count);
  }

  // The next `count` samples, fewer if there are fewer.
  std::vector<float> Take(size_t count) {
    count = std::min(count, size());
    const auto begin = samples_.begin() + static_cast<std::ptrdiff_t>(head_);
    std::vector<float> taken(begin, begin + static_cast<std::ptrdiff_t>(count));
    head_ += count;
    if (head_ == samples_.size()) {
      samples_ = {};
      head_ = 0;
    } else if (head_ > samples_.size() / 2) {
      samples_.erase(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
    return taken;
  }

 private:
  std::vector<float> samples_;  // those before head_ are taken
  size_t head_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_SAMPLE_QUEUE_H_
