// The last rows of a stream that a layer reads again, kept in a ring.
#ifndef RUNNEL_ENCODER_ROW_RING_H_
#define RUNNEL_ENCODER_ROW_RING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "encoder/rows.h"

namespace runnel {

// Rows of `dim` values, oldest first, up to a limit. When the limit is reached, a new row replaces
// the oldest one and no other row moves. The memory doubles when it is full, up to the limit. A
// value. The ring stores rows as they are: conversions are the caller's.
class RowRing {
 public:
  RowRing(int64_t dim, DataType type) : dim_(dim), type_(type) {}

  int64_t size() const { return size_; }
  int64_t dim() const { return dim_; }
  DataType type() const { return type_; }

  // The row at `index`, oldest first. Valid until rows are added.
  const void* Row(int64_t index) const {
    return memory_.data() + SlotOf(index) * static_cast<size_t>(row_bytes());
  }

  // Adds `count` rows, row i at rows + i * stride values of this ring's type, then keeps the last
  // `limit` of all rows (-1: all).
  void Append(const void* rows, int64_t stride, int64_t count, int64_t limit);

  // Drops up to `count` of the oldest rows. The memory stays.
  void DropFirst(int64_t count);

  bool AllFinite() const;

  // Bytes allocated.
  int64_t num_bytes() const { return static_cast<int64_t>(memory_.capacity()); }

  // The rows, for the snapshot of a stream (runtime/snapshot/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    const auto row_bytes = static_cast<size_t>(self.row_bytes());
    const size_t count = fields.Count(static_cast<size_t>(self.size_), row_bytes);
    if constexpr (Fields::kReading) self.Resize(static_cast<int64_t>(count));
    for (size_t i = 0; i < count; ++i) {
      if constexpr (Fields::kReading) {
        fields.Bytes(self.memory_.data() + i * row_bytes, row_bytes);
      } else {
        fields.Bytes(self.Row(static_cast<int64_t>(i)), row_bytes);
      }
    }
  }

 private:
  int64_t row_bytes() const { return dim_ * BytesOf(type_); }
  size_t SlotOf(int64_t index) const { return static_cast<size_t>((first_ + index) % capacity_); }
  // Moves the last rows that fit to a memory of `capacity` rows.
  void Reserve(int64_t capacity);
  // To `size` rows of zeros.
  void Resize(int64_t size);

  int64_t dim_;
  DataType type_;
  std::vector<std::byte> memory_;  // (capacity, dim)
  int64_t capacity_ = 0;           // rows
  int64_t first_ = 0;              // slot of the oldest row
  int64_t size_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ROW_RING_H_
