#include "encoder/position/position_table.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

namespace runnel {
namespace {

constexpr int64_t kBlockSize = 32;

// The table never gets wider (22 minutes of audio at 40 ms), so that one huge utterance does not
// enlarge the model for good. It is never replaced either, because readers hold no lock.
constexpr int64_t kMaxRemembered = 32768;

int64_t BlockOf(int64_t distance) {
  return distance >= 0 ? distance / kBlockSize : -((-distance + kBlockSize - 1) / kBlockSize);
}

// An odd number of cache lines of float32, so that a column does not lie in one set of the cache.
int64_t StrideFor(int64_t num_columns) {
  constexpr int64_t kLineValues = 16;
  const int64_t lines =
      (num_columns + PositionTable::kColumnPadding + kLineValues - 1) / kLineValues;
  return (lines | 1) * kLineValues;
}

Distances DistancesOfBlock(int64_t block) {
  return {block * kBlockSize + kBlockSize - 1, block * kBlockSize};
}

// Not owned: the table keeps it.
std::shared_ptr<const PositionTable::Range> Remembered(const PositionTable::Range* range) {
  return {std::shared_ptr<const PositionTable::Range>(), range};
}

}  // namespace

PositionTable::PositionTable(LinearPos linear_pos, TableOrder order, int64_t max_distance)
    : linear_pos_(std::move(linear_pos)), order_(order), bounds_{max_distance, -max_distance} {}

std::shared_ptr<const PositionTable::Range> PositionTable::Covering(const Distances& wanted) const {
  const Distances clamped = wanted.ClampedTo(bounds_);
  const Range* widest = widest_.load(std::memory_order_acquire);
  if (widest == nullptr || !widest->distances.Contains(clamped)) {
    const std::lock_guard<std::mutex> lock(mutex_);
    widest = widest_.load(std::memory_order_relaxed);
    if (widest == nullptr || !widest->distances.Contains(clamped)) {
      const Distances range = widest == nullptr ? clamped : Widened(widest->distances, clamped);
      if (range.size() <= kMaxRemembered) {
        ranges_.push_back(std::make_unique<const Range>(Compute(range, widest)));
        widest = ranges_.back().get();
        widest_.store(widest, std::memory_order_release);
      }
    }
  }
  if (widest != nullptr && widest->distances.Contains(clamped)) return Remembered(widest);
  return std::make_shared<const Range>(Compute(clamped, widest));
}

Distances PositionTable::Widened(const Distances& known, const Distances& wanted) const {
  Distances range{std::max(known.first, wanted.first), std::min(known.last, wanted.last)};
  const auto spare = [&] { return std::max<int64_t>(0, kMaxRemembered - range.size()); };
  if (wanted.first > known.first) range.first += std::clamp<int64_t>(wanted.first, 0, spare());
  if (wanted.last < known.last) range.last -= std::clamp<int64_t>(-wanted.last, 0, spare());
  return range.ClampedTo(bounds_);
}

PositionTable::Range PositionTable::Compute(const Distances& distances, const Range* known) const {
  const int64_t first_block = BlockOf(distances.first);
  std::vector<at::Tensor> blocks;
  for (int64_t block = first_block; block >= BlockOf(distances.last); --block) {
    const Distances rows = DistancesOfBlock(block);
    if (known != nullptr && known->distances.Contains(rows)) {
      blocks.push_back(known->rows().narrow(0, known->distances.first - rows.first, kBlockSize));
    } else {
      blocks.push_back(order_ == TableOrder::kDescending
                           ? linear_pos_.Rows(rows.first, rows.last)
                           : linear_pos_.Rows(-rows.first, -rows.last));
    }
  }
  const at::Tensor rows = at::cat(blocks).narrow(
      0, DistancesOfBlock(first_block).first - distances.first, distances.size());
  const at::Tensor columns = at::zeros({rows.size(1), StrideFor(distances.size())}, rows.options());
  columns.narrow(1, 0, distances.size()).copy_(rows.t());
  return {columns, distances};
}

}  // namespace runnel
