#include "encoder/rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

namespace runnel {
namespace {

constexpr std::align_val_t kAlignment{64};

template <class T>
bool AllFiniteValues(const T* values, int64_t count) {
  return std::all_of(values, values + count, [](T value) { return std::isfinite(value); });
}

}  // namespace

bool AllFinite(ConstRows rows) {
  const int64_t count = rows.count * rows.dim;
  switch (rows.type) {
    case DataType::kFloat32:
      return AllFiniteValues(rows.float32(), count);
    case DataType::kFloat64:
      return AllFiniteValues(rows.float64(), count);
    default:  // kBfloat16
      break;
  }
  constexpr uint16_t kExponent = 0x7F80;
  const auto* bits = static_cast<const uint16_t*>(rows.data);
  return std::all_of(bits, bits + count,
                     [](uint16_t value) { return (value & kExponent) != kExponent; });
}

void Matrix::AlignedDelete::operator()(std::byte* memory) const {
  ::operator delete(memory, kAlignment);
}

Matrix::Matrix(DataType type, int64_t dim, int64_t count) : type_(type), dim_(dim) {
  AddRows(count);
}

Matrix::Matrix(ConstRows rows) : Matrix(rows.type, rows.dim, rows.count) {
  if (rows.count > 0) std::memcpy(memory_.get(), rows.data, static_cast<size_t>(num_bytes()));
}

Rows Matrix::AddRows(int64_t count) {
  if (count_ + count > capacity_) {
    const int64_t capacity = std::max(count_ + count, 2 * capacity_);
    std::unique_ptr<std::byte, AlignedDelete> memory(static_cast<std::byte*>(
        ::operator new(static_cast<size_t>(capacity * row_bytes()), kAlignment)));
    if (count_ > 0) {
      std::memcpy(memory.get(), memory_.get(), static_cast<size_t>(count_ * row_bytes()));
    }
    memory_ = std::move(memory);
    capacity_ = capacity;
  }
  count_ += count;
  return rows().Part(count_ - count, count);
}

void Matrix::DropFirst(int64_t count) {
  count_ -= count;
  if (count > 0 && count_ > 0) {
    std::memmove(memory_.get(), memory_.get() + count * row_bytes(),
                 static_cast<size_t>(count_ * row_bytes()));
  }
}

Matrix ZeroRows(DataType type, int64_t dim, int64_t count) {
  Matrix matrix(type, dim, count);
  std::memset(matrix.rows().data, 0, static_cast<size_t>(count * dim * BytesOf(type)));
  return matrix;
}

Matrix ToFloat32(Matrix matrix) {
  if (matrix.type() == DataType::kFloat32) return matrix;
  Matrix rounded(DataType::kFloat32, matrix.dim(), matrix.count());
  const double* values = std::as_const(matrix).rows().float64();
  std::transform(values, values + matrix.count() * matrix.dim(), rounded.rows().float32(),
                 [](double value) { return static_cast<float>(value); });
  return rounded;
}

}  // namespace runnel
