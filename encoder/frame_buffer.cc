#include "encoder/frame_buffer.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/isfinite.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

namespace runnel {

FrameBuffer::FrameBuffer(int64_t width, const at::TensorOptions& options)
    : memory_(at::empty({0, width}, options)) {}

FrameBuffer::FrameBuffer(const FrameBuffer& other) : end_(other.size()) {
  const c10::InferenceMode guard;
  memory_ = other.Rows().clone();
}

FrameBuffer& FrameBuffer::operator=(const FrameBuffer& other) {
  *this = FrameBuffer(other);
  return *this;
}

void FrameBuffer::Append(const at::Tensor& rows) {
  const c10::InferenceMode guard;
  // A narrower row would be repeated silently to fill the width.
  TORCH_INTERNAL_ASSERT(rows.dim() == 2 && rows.size(1) == memory_.size(1),
                        "rows of another width");
  const int64_t added = rows.size(0);
  if (end_ + added > memory_.size(0)) {
    const int64_t needed = size() + added;
    at::Tensor memory = memory_;
    // Moving to the front of the same memory must not overlap, and must leave room for as many
    // appends again.
    if (needed * 2 > memory_.size(0))
      memory = at::empty({needed * 2, memory_.size(1)}, memory_.options());
    memory.narrow(0, 0, size()).copy_(Rows());
    end_ = size();
    begin_ = 0;
    memory_ = std::move(memory);
  }
  memory_.narrow(0, end_, added).copy_(rows);
  end_ += added;
}

void FrameBuffer::KeepLast(int64_t size) { begin_ = std::max(begin_, end_ - size); }

bool FrameBuffer::AllFinite() const {
  const c10::InferenceMode guard;
  return at::isfinite(Rows()).all().item<bool>();
}

at::Tensor FrameBuffer::RowsOnCpu() const {
  const c10::InferenceMode guard;
  return Rows().cpu().contiguous();
}

at::Tensor FrameBuffer::EmptyRowsOnCpu(int64_t count) const {
  return at::empty({count, memory_.size(1)}, memory_.options().device(at::kCPU));
}

void FrameBuffer::Replace(const at::Tensor& rows) {
  KeepLast(0);
  Append(rows);
}

at::Tensor FrameBuffer::Rows() const { return memory_.narrow(0, begin_, size()); }

}  // namespace runnel
