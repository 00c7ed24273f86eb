// The samples of a live stream that wait to be decoded.
#ifndef RUNNEL_RUNTIME_LIVE_SAMPLE_QUEUE_H_
#define RUNNEL_RUNTIME_LIVE_SAMPLE_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

namespace runnel {

// First in, first out; O(1) per sample. Holds two blocks more than the samples need at most, so
// that what waits costs what was accounted for it. A value.
class SampleQueue {
 public:
  size_t size() const { return size_; }

  // Without an effect when it throws.
  void Append(const float* samples, size_t count) {
    const size_t num_blocks = blocks_.size();
    try {
      while (blocks_.size() * kBlock - head_ - size_ < count) blocks_.emplace_back(kBlock);
    } catch (...) {
      blocks_.resize(num_blocks);
      throw;
    }
    ForEachPart(size_, count, [&samples](float* block, size_t part) {
      std::copy_n(samples, part, block);
      samples += part;
    });
    size_ += count;
  }

  // The next `count` samples, fewer if there are fewer.
  std::vector<float> Take(size_t count) {
    std::vector<float> taken(std::min(count, size_));
    float* end = taken.data();
    ForEachPart(0, taken.size(),
                [&end](const float* block, size_t part) { end = std::copy_n(block, part, end); });
    head_ += taken.size();
    size_ -= taken.size();
    while (head_ >= kBlock) {
      blocks_.pop_front();
      head_ -= kBlock;
    }
    if (size_ == 0) Clear();
    return taken;
  }

  void Clear() {
    blocks_.clear();
    head_ = size_ = 0;
  }

 private:
  static constexpr size_t kBlock = 4096;  // samples; small enough for the allocator to use again

  // Calls `visit` for the parts of the blocks that hold `count` samples from `begin` on.
  template <typename Visit>
  void ForEachPart(size_t begin, size_t count, Visit visit) {
    for (size_t at = head_ + begin, end = at + count; at < end;) {
      const size_t offset = at % kBlock, part = std::min(kBlock - offset, end - at);
      visit(blocks_[at / kBlock].data() + offset, part);
      at += part;
    }
  }

  std::deque<std::vector<float>> blocks_;  // of kBlock samples each
  size_t head_ = 0;                        // samples of the first block that are taken
  size_t size_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_SAMPLE_QUEUE_H_
