#include "encoder/row_ring.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace runnel {

void RowRing::Reserve(int64_t new_capacity) {
  const auto bytes = static_cast<size_t>(row_bytes());
  std::vector<std::byte> fresh(static_cast<size_t>(new_capacity) * bytes);
  DropFirst(size_ - new_capacity);
  for (int64_t i = 0; i < size_; ++i) {
    std::memcpy(fresh.data() + static_cast<size_t>(i) * bytes, Row(i), bytes);
  }
  memory_ = std::move(fresh);
  capacity_ = new_capacity;
  first_ = 0;
}

void RowRing::Resize(int64_t size) {
  memory_.assign(static_cast<size_t>(size * row_bytes()), std::byte{0});
  capacity_ = size;
  first_ = 0;
  size_ = size;
}

void RowRing::DropFirst(int64_t count) {
  count = std::min(count, size_);
  if (count <= 0) return;
  first_ = static_cast<int64_t>(SlotOf(count));
  size_ -= count;
}

void RowRing::Append(const void* rows, int64_t stride, int64_t count, int64_t limit) {
  const int64_t largest = limit < 0 ? std::numeric_limits<int64_t>::max() : limit;
  if (capacity_ > largest) Reserve(limit);
  if (size_ + count > capacity_ && capacity_ < largest) {
    Reserve(std::min(largest, 2 * (size_ + count)));
  }
  const auto bytes = static_cast<size_t>(row_bytes());
  const int64_t skipped = limit < 0 ? 0 : std::max<int64_t>(0, count - limit);
  for (int64_t i = skipped; i < count; ++i) {
    if (size_ == capacity_) DropFirst(1);
    const auto* row = static_cast<const std::byte*>(rows) + i * stride * BytesOf(type_);
    std::memcpy(memory_.data() + SlotOf(size_) * bytes, row, bytes);
    ++size_;
  }
}

bool RowRing::AllFinite() const {
  // Slots that hold no row are zero, or hold a row that was checked before.
  return runnel::AllFinite({type_, memory_.data(), capacity_, dim_});
}

}  // namespace runnel
