#include "encoder/fast/distance_rows.h"

#include <algorithm>
#include <utility>

namespace runnel {
namespace {

// Wider ranges (11 minutes of audio to either side, at 40 ms) are not remembered, so that one huge
// utterance does not enlarge the model for good.
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
  const std::lock_guard<std::mutex> lock(memo_->mutex);
  widest = memo_->widest.load(std::memory_order_relaxed);
  if (covers(widest)) return TableOf(*widest);
  Range range{{}, first, last};
  if (widest != nullptr) {
    range.first = std::max(first, widest->first);
    range.last = std::min(last, widest->last);
    if (first > widest->first) range.first = std::max(first, 2 * widest->first);
    if (last < widest->last) range.last = std::min(last, 2 * widest->last);
    range.first = std::min(range.first, max_distance_);
    range.last = std::max(range.last, -max_distance_);
  }
  if (range.first - range.last > kMaxRemembered) {
    *kept = rows_(first, last).contiguous();
    return {kept->data_ptr<float>(), kept->size(0), first};
  }
  range.rows = rows_(range.first, range.last).contiguous();
  memo_->ranges.push_back(std::make_unique<const Range>(range));
  memo_->widest.store(memo_->ranges.back().get(), std::memory_order_release);
  return TableOf(*memo_->ranges.back());
}

}  // namespace runnel
