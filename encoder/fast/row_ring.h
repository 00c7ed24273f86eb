// The last rows of a stream that a layer reads again, in place: nothing moves.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools. Knows nothing of LibTorch.
#ifndef RUNNEL_ENCODER_FAST_ROW_RING_H_
#define RUNNEL_ENCODER_FAST_ROW_RING_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "encoder/kernels/scratch.h"

namespace runnel {

// Up to a limit of rows, oldest first; a new row takes the place of the oldest. A value. Memory
// doubles when it is full, up to that of the limit.
class RowRing {
 public:
  enum class Storage { kFloat32, kBfloat16 };

  RowRing(int64_t width, Storage storage) : width_(width), storage_(storage) {}

  int64_t size() const { return size_; }

  // Keeps the last `limit` of the rows so far and `count` new ones: row i at rows + i * stride.
  // limit -1: all.
  void Append(const float* rows, int64_t stride, int64_t count, int64_t limit);

  // Pointers to the rows, oldest first: size() of them. Rows stored as bfloat16 are widened into
  // `scratch`. Valid until the next Append.
  void Collect(kernels::Scratch* scratch, const float** pointers) const;

  // Bytes allocated.
  int64_t num_bytes() const;

  bool AllFinite() const;

  // The rows, for the snapshot of a stream (runtime/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    const size_t row_bytes = self.row_bytes();
    const size_t count = fields.Count(static_cast<size_t>(self.size_), row_bytes);
    if constexpr (Fields::kReading) self.Resize(static_cast<int64_t>(count));
    for (size_t i = 0; i < count; ++i) fields.Bytes(self.Row(static_cast<int64_t>(i)), row_bytes);
  }

 private:
  int64_t capacity() const;
  int64_t SlotOf(int64_t index) const { return (first_ + index) % capacity(); }
  void Reserve(int64_t capacity);
  // To `size` rows of any values.
  void Resize(int64_t size);
  size_t row_bytes() const {
    return static_cast<size_t>(width_) *
           (storage_ == Storage::kFloat32 ? sizeof(float) : sizeof(uint16_t));
  }
  // The row at `index`, oldest first: row_bytes().
  const void* Row(int64_t index) const;
  void* Row(int64_t index) { return const_cast<void*>(std::as_const(*this).Row(index)); }
  void Store(const float* row, int64_t slot);

  int64_t width_;
  Storage storage_;
  std::vector<float> floats_;       // (capacity, width), one of the two
  std::vector<uint16_t> bfloat16_;  // likewise, by their bits
  int64_t first_ = 0;               // slot of the oldest row
  int64_t size_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FAST_ROW_RING_H_
