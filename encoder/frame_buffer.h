// The rolling window of rows that a stream remembers: keys, values, gated frames, features.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_FRAME_BUFFER_H_
#define RUNNEL_ENCODER_FRAME_BUFFER_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>

namespace runnel {

// Rows appended at the end and dropped from the front. A value: a copy owns its rows. Appending
// does not move the rows already there, except once per refill of a buffer twice the live size, so
// a window of constant length costs a constant number of copied rows per row, and constant memory.
class FrameBuffer {
 public:
  // Holds rows of `width` values of the options' type, on their device; empty.
  FrameBuffer(int64_t width, const at::TensorOptions& options);

  FrameBuffer(const FrameBuffer& other);
  FrameBuffer& operator=(const FrameBuffer& other);
  FrameBuffer(FrameBuffer&& other) = default;
  FrameBuffer& operator=(FrameBuffer&& other) = default;

  int64_t size() const { return end_ - begin_; }

  // rows: (n, width).
  void Append(const at::Tensor& rows);

  // Drops rows from the front until at most `size` are left.
  void KeepLast(int64_t size);

  // (size(), width), sharing this buffer's memory: valid until the next Append.
  at::Tensor Rows() const;

  bool AllFinite() const;

  // The rows, for the snapshot of a stream (runtime/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    at::Tensor rows = self.RowsOnCpu();
    const size_t count = fields.Count(static_cast<size_t>(rows.size(0)), self.row_bytes());
    if constexpr (Fields::kReading) rows = self.EmptyRowsOnCpu(static_cast<int64_t>(count));
    fields.Bytes(rows.data_ptr(), count * self.row_bytes());
    if constexpr (Fields::kReading) self.Replace(rows);
  }

  // Bytes allocated.
  int64_t num_bytes() const { return static_cast<int64_t>(memory_.nbytes()); }

 private:
  size_t row_bytes() const {
    return static_cast<size_t>(memory_.size(1)) * memory_.dtype().itemsize();
  }
  // Contiguous rows of this buffer's type: copies of its own, and uninitialised ones.
  at::Tensor RowsOnCpu() const;
  at::Tensor EmptyRowsOnCpu(int64_t count) const;
  void Replace(const at::Tensor& rows);

  at::Tensor memory_;  // (capacity, width); rows begin_ .. end_-1 are live
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FRAME_BUFFER_H_
