#include "encoder/position/position_table.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

namespace runnel {
namespace {

// The table never gets wider (22 minutes of audio at 40 ms), so that one huge utterance does not
// enlarge the model for good. It is never replaced either, because readers hold no lock.
constexpr int64_t kMaxRemembered = 32768;

// An odd number of cache lines of float32, so that a column does not lie in one set of the cache.
int64_t StrideFor(int64_t num_columns) {
  constexpr int64_t kLineValues = 16;
  const int64_t lines =
      (num_columns + PositionTable::kColumnPadding + kLineValues - 1) / kLineValues;
  return (lines | 1) * kLineValues;
}

// The columns of `distances`, which both ranges hold.
void CopyColumns(const PositionTable::Range& from, const Distances& distances,
                 PositionTable::Range* to) {
  const auto first_of = [&](const auto& rows, const Distances& all) {
    return static_cast<std::byte*>(const_cast<void*>(rows.data)) +
           (all.first - distances.first) * BytesOf(rows.type);
  };
  for (size_t layer = 0; layer < from.columns.size(); ++layer) {
    const ConstRows known = from.columns[layer].rows();
    const Rows columns = to->columns[layer].rows();
    for (int64_t k = 0; k < known.count; ++k) {
      std::memcpy(first_of(columns.Part(k, 1), to->distances),
                  first_of(known.Part(k, 1), from.distances),
                  static_cast<size_t>(distances.size() * BytesOf(known.type)));
    }
  }
}

// Not owned: the table keeps it.
std::shared_ptr<const PositionTable::Range> Remembered(const PositionTable::Range* range) {
  return {std::shared_ptr<const PositionTable::Range>(), range};
}

}  // namespace

PositionTable::PositionTable(std::vector<LinearPos> layers, TableOrder order, int64_t max_distance)
    : layers_(std::move(layers)), order_(order), bounds_{max_distance, -max_distance} {}

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
  Range range{{}, distances};
  std::vector<Rows> columns;
  for (const LinearPos& layer : layers_) {
    range.columns.emplace_back(layer.data_type(), StrideFor(distances.size()), layer.dim());
    const Rows rows = range.columns.back().rows();
    std::memset(rows.data, 0, static_cast<size_t>(rows.count * rows.dim * BytesOf(rows.type)));
    columns.push_back(rows);
  }
  const auto compute = [&](int64_t first, int64_t last) {
    if (first < last) return;
    const int64_t sign = order_ == TableOrder::kDescending ? 1 : -1;
    ProjectPositions(layers_, sign * first, sign * last, distances.first - first, columns);
  };
  // What both ranges hold; nothing where they do not meet.
  const Distances common = known == nullptr
                               ? Distances{distances.last - 1, distances.last}
                               : Distances{std::min(known->distances.first, distances.first),
                                           std::max(known->distances.last, distances.last)};
  if (common.size() <= 0) {
    compute(distances.first, distances.last);
  } else {
    compute(distances.first, common.first + 1);
    CopyColumns(*known, common, &range);
    compute(common.last - 1, distances.last);
  }
  return range;
}

}  // namespace runnel
