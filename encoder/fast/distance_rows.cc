#include "encoder/fast/distance_rows.h"

#include <algorithm>
#include <utility>

namespace runnel {
namespace {

// Wider ranges (22 minutes of audio at 40 ms) are not remembered, so that one huge utterance does
// not enlarge the model for good.
constexpr int64_t kMaxRemembered = 32768;

}  // namespace

DistanceRows::DistanceRows(std::function<at::Tensor(int64_t first, int64_t last)> rows,
                           int64_t max_distance)
    : rows_(std::move(rows)), max_distance_(max_distance), memo_(std::make_unique<Memo>()) {}

kernels::DistanceTable DistanceRows::TableOf(const Range& range) {
  return {range.rows.data_ptr<float>(), range.rows.size(0), range.first};
}

kernels::DistanceTable DistanceRows::Covering(int64_t first, int64_t last, at::Tensor* kept) const {
  first = std::clamp(first, -max_distance_, max_distance_);
  last = std::clamp(last, -max_distance_, max_distance_);
  const auto covers = [&](const Range* range) {
    return range != nullptr && first <= range->first && last >= range->last;
  };
  const Range* widest = memo_->widest.load(std::memory_order_acquire);
  if (covers(widest)) return TableOf(*widest);
  if (first - last > kMaxRemembered) {
    *kept = rows_(first, last).contiguous();
    return {kept->data_ptr<float>(), kept->size(0), first};
  }
  const std::lock_guard<std::mutex> lock(memo_->mutex);
  widest = memo_->widest.load(std::memory_order_relaxed);
  if (covers(widest)) return TableOf(*widest);
  Range range{{}, first, last};
  if (widest != nullptr) {
    // Twice as far to the side where it was not enough, within the bound on its size.
    const int64_t spare =
        kMaxRemembered - (std::max(first, widest->first) - std::min(last, widest->last));
    if (spare >= 0) {
      range.first = std::max(first, widest->first);
      range.last = std::min(last, widest->last);
      if (first > widest->first) range.first += std::min({first, spare, max_distance_ - first});
    }
  }
  range.rows = rows_(range.first, range.last).contiguous();
  memo_->ranges.push_back(std::make_unique<const Range>(range));
  memo_->widest.store(memo_->ranges.back().get(), std::memory_order_release);
  return TableOf(*memo_->ranges.back());
}

}  // namespace runnel
