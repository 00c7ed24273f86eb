#include "encoder/fast/row_ring.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>

#include "encoder/kernels/row_kernels.h"

namespace runnel {

int64_t RowRing::capacity() const {
  const size_t values = storage_ == Storage::kFloat32 ? floats_.size() : bfloat16_.size();
  return static_cast<int64_t>(values) / width_;
}

int64_t RowRing::num_bytes() const {
  return static_cast<int64_t>(floats_.capacity() * sizeof(float) +
                              bfloat16_.capacity() * sizeof(uint16_t));
}

void RowRing::Reserve(int64_t new_capacity) {
  const auto move_to = [&](auto* values) {
    std::remove_reference_t<decltype(*values)> fresh(static_cast<size_t>(new_capacity * width_));
    const int64_t kept = std::min(size_, new_capacity);
    for (int64_t i = 0; i < kept; ++i) {
      const auto* from = values->data() + SlotOf(size_ - kept + i) * width_;
      std::copy(from, from + width_, fresh.data() + i * width_);
    }
    *values = std::move(fresh);
    size_ = kept;
    first_ = 0;
  };
  if (storage_ == Storage::kFloat32) {
    move_to(&floats_);
  } else {
    move_to(&bfloat16_);
  }
}

void RowRing::Resize(int64_t size) {
  const auto values = static_cast<size_t>(size * width_);
  if (storage_ == Storage::kFloat32) {
    floats_.assign(values, 0.0F);
  } else {
    bfloat16_.assign(values, 0);
  }
  first_ = 0;
  size_ = size;
}

const void* RowRing::Row(int64_t index) const {
  const int64_t first = SlotOf(index) * width_;
  if (storage_ == Storage::kFloat32) return floats_.data() + first;
  return bfloat16_.data() + first;
}

bool RowRing::AllFinite() const {
  // Slots that hold no row are zero, or hold one that was finite.
  constexpr uint16_t kExponent = 0x7F80;  // of a bfloat16
  return std::all_of(floats_.begin(), floats_.end(), [](float x) { return std::isfinite(x); }) &&
         std::all_of(bfloat16_.begin(), bfloat16_.end(),
                     [](uint16_t bits) { return (bits & kExponent) != kExponent; });
}

void RowRing::Store(const float* row, int64_t slot) {
  if (storage_ == Storage::kFloat32) {
    std::copy(row, row + width_, floats_.data() + slot * width_);
  } else {
    kernels::RoundToBfloat16(row, width_, bfloat16_.data() + slot * width_);
  }
}

void RowRing::Append(const float* rows, int64_t stride, int64_t count, int64_t limit) {
  const int64_t largest = limit < 0 ? std::numeric_limits<int64_t>::max() : limit;
  if (capacity() > largest) Reserve(limit);
  if (size_ + count > capacity() && capacity() < largest) {
    Reserve(std::min(largest, 2 * (size_ + count)));
  }
  const int64_t skipped = limit < 0 ? 0 : std::max<int64_t>(0, count - limit);
  for (int64_t i = skipped; i < count; ++i) {
    if (size_ == capacity()) {
      first_ = (first_ + 1) % capacity();
      --size_;
    }
    Store(rows + i * stride, SlotOf(size_));
    ++size_;
  }
}

void RowRing::Collect(kernels::Scratch* scratch, const float** pointers) const {
  if (storage_ == Storage::kFloat32) {
    for (int64_t i = 0; i < size_; ++i) pointers[i] = floats_.data() + SlotOf(i) * width_;
    return;
  }
  auto* wide = scratch->Take<float>(size_ * width_);
  for (int64_t i = 0; i < size_; ++i) {
    kernels::WidenBfloat16(bfloat16_.data() + SlotOf(i) * width_, width_, wide + i * width_);
    pointers[i] = wide + i * width_;
  }
}

}  // namespace runnel
