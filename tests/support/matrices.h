// Rows of values in tests: views of what is compared, other data types, concatenation.
#ifndef RUNNEL_TESTS_SUPPORT_MATRICES_H_
#define RUNNEL_TESTS_SUPPORT_MATRICES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "encoder/model_file/tensor.h"
#include "encoder/rows.h"

namespace runnel::testing {

// The arguments of comparisons: rows, a matrix, or a tensor of float32 or float64 with at least one
// dimension, whose last one is that of the rows.
inline ConstRows RowsOf(ConstRows rows) { return rows; }
inline ConstRows RowsOf(const Matrix& matrix) { return matrix.rows(); }
inline ConstRows RowsOf(const Tensor& tensor) {
  if (tensor.type() != DataType::kFloat32 && tensor.type() != DataType::kFloat64) {
    throw std::invalid_argument("rows of type " + std::string(NameOf(tensor.type())));
  }
  const int64_t dim = tensor.shape().back();
  return {tensor.type(), tensor.data(), dim == 0 ? 0 : tensor.count() / dim, dim};
}

// Of kFloat32 or kFloat64; counted row by row.
inline double ValueAt(ConstRows rows, int64_t index) {
  return rows.type == DataType::kFloat64 ? rows.float64()[index]
                                         : static_cast<double>(rows.float32()[index]);
}

// value(row, column) for each value.
template <class Function>
Matrix MatrixOf(DataType type, int64_t count, int64_t dim, const Function& value) {
  Matrix matrix(type, dim, count);
  const Rows rows = matrix.rows();
  for (int64_t row = 0; row < count; ++row) {
    for (int64_t column = 0; column < dim; ++column) {
      if (type == DataType::kFloat64) {
        rows.float64(row)[column] = static_cast<double>(value(row, column));
      } else {
        rows.float32(row)[column] = static_cast<float>(value(row, column));
      }
    }
  }
  return matrix;
}

// The values in another type, rounded where it has fewer digits.
template <class Values>
Matrix Converted(const Values& values, DataType type) {
  const ConstRows rows = RowsOf(values);
  return MatrixOf(type, rows.count, rows.dim, [&](int64_t row, int64_t column) {
    return ValueAt(rows, row * rows.dim + column);
  });
}

// All rows, one part after another. At least one part; all are of one type and dimension.
template <class Part>
Matrix Joined(const std::vector<Part>& parts) {
  Matrix joined(RowsOf(parts.at(0)));
  for (size_t i = 1; i < parts.size(); ++i) {
    const ConstRows part = RowsOf(parts[i]);
    if (part.type != joined.type() || part.dim != joined.dim()) {
      throw std::invalid_argument("parts of two types or dimensions");
    }
    if (part.count == 0) continue;
    std::memcpy(joined.AddRows(part.count).data, part.data,
                static_cast<size_t>(part.count * part.dim * BytesOf(part.type)));
  }
  return joined;
}

// The same data type, shape and bits.
template <class A, class B>
bool EqualBits(const A& a, const B& b) {
  const ConstRows left = RowsOf(a);
  const ConstRows right = RowsOf(b);
  if (left.type != right.type || left.count != right.count || left.dim != right.dim) return false;
  const auto num_bytes = static_cast<size_t>(left.count * left.dim * BytesOf(left.type));
  return num_bytes == 0 || std::memcmp(left.data, right.data, num_bytes) == 0;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_MATRICES_H_
