// Matrices of rows, one row per frame: views, and a matrix that owns its memory.
#ifndef RUNNEL_ENCODER_ROWS_H_
#define RUNNEL_ENCODER_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "encoder/model_file/data_type.h"

namespace runnel {

// Rows are kFloat32 or kFloat64; those of a RowRing may be kBfloat16.

// A view of (count, dim) values, row-major and contiguous. The memory belongs to another object.
struct ConstRows {
  DataType type = DataType::kFloat32;
  const void* data = nullptr;
  int64_t count = 0;
  int64_t dim = 0;

  // The first value of a row. The data type must be the one asked for.
  const float* float32(int64_t row = 0) const {
    return static_cast<const float*>(data) + row * dim;
  }
  const double* float64(int64_t row = 0) const {
    return static_cast<const double*>(data) + row * dim;
  }

  // Rows first .. first + num_rows - 1.
  ConstRows Part(int64_t first, int64_t num_rows) const {
    return {type, static_cast<const std::byte*>(data) + first * dim * BytesOf(type), num_rows, dim};
  }
};

// A view through which values can be written.
struct Rows {
  DataType type = DataType::kFloat32;
  void* data = nullptr;
  int64_t count = 0;
  int64_t dim = 0;

  float* float32(int64_t row = 0) const { return static_cast<float*>(data) + row * dim; }
  double* float64(int64_t row = 0) const { return static_cast<double*>(data) + row * dim; }

  Rows Part(int64_t first, int64_t num_rows) const {
    return {type, static_cast<std::byte*>(data) + first * dim * BytesOf(type), num_rows, dim};
  }

  operator ConstRows() const { return {type, data, count, dim}; }  // NOLINT: a view of the same
};

// False where a value is NaN or infinite.
bool AllFinite(ConstRows rows);

// Owns (count, dim) values of type kFloat32 or kFloat64, aligned to a cache line. A value: a copy
// owns its rows, and holds no memory beyond them.
class Matrix {
 public:
  // The values are not initialised.
  Matrix(DataType type, int64_t dim, int64_t count = 0);
  // Copies the rows.
  explicit Matrix(ConstRows rows);

  Matrix(const Matrix& other) : Matrix(other.rows()) {}
  Matrix& operator=(const Matrix& other) { return *this = Matrix(other); }
  Matrix(Matrix&&) = default;
  Matrix& operator=(Matrix&&) = default;

  DataType type() const { return type_; }
  int64_t count() const { return count_; }
  int64_t dim() const { return dim_; }

  // Valid until rows are added or dropped.
  Rows rows() { return {type_, memory_.get(), count_, dim_}; }
  ConstRows rows() const { return {type_, memory_.get(), count_, dim_}; }

  // Adds rows at the end, not initialised, and returns a view of them.
  Rows AddRows(int64_t count);
  // Drops rows from the front. The memory stays.
  void DropFirst(int64_t count);

  // Bytes allocated.
  int64_t num_bytes() const { return capacity_ * row_bytes(); }

  // The rows, for the snapshot of a stream (runtime/snapshot/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    const auto row_bytes = static_cast<size_t>(self.row_bytes());
    const size_t count = fields.Count(static_cast<size_t>(self.count_), row_bytes);
    if constexpr (Fields::kReading)
      self = Matrix(self.type_, self.dim_, static_cast<int64_t>(count));
    fields.Bytes(self.memory_.get(), count * row_bytes);
  }

 private:
  struct AlignedDelete {
    void operator()(std::byte* memory) const;
  };

  int64_t row_bytes() const { return dim_ * BytesOf(type_); }

  DataType type_;
  int64_t dim_;
  int64_t count_ = 0;
  int64_t capacity_ = 0;  // rows
  std::unique_ptr<std::byte, AlignedDelete> memory_;
};

// `count` rows of zeros.
Matrix ZeroRows(DataType type, int64_t dim, int64_t count);

// The same values in float32; those of kFloat64 are rounded.
Matrix ToFloat32(Matrix matrix);

}  // namespace runnel

#endif  // RUNNEL_ENCODER_ROWS_H_
