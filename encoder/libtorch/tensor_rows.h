// Rows and weights as tensors of LibTorch, and back.
#ifndef RUNNEL_ENCODER_LIBTORCH_TENSOR_ROWS_H_
#define RUNNEL_ENCODER_LIBTORCH_TENSOR_ROWS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "encoder/model_file/tensor.h"
#include "encoder/row_ring.h"
#include "encoder/rows.h"

namespace runnel::libtorch {

// kFloat32 and kFloat64 only.
at::ScalarType ScalarTypeOf(DataType type);
DataType DataTypeOf(at::ScalarType type);

// A (count, dim) view of the rows. The tensor of ConstRows must not be written to.
at::Tensor View(Rows rows);
at::Tensor View(ConstRows rows);
// A view of a weight of type kFloat32 or kFloat64, which must not be written to. It shares the
// values and does not keep them. Undefined for an undefined weight.
at::Tensor View(const Tensor& weight);
// A (count, dim) view of a contiguous tensor on the CPU.
ConstRows View(const at::Tensor& tensor);

// A copy of the rows, oldest first.
at::Tensor Copy(const RowRing& ring);
// RowRing::Append of a tensor of the ring's data type.
void Append(const at::Tensor& rows, int64_t limit, RowRing* ring);

}  // namespace runnel::libtorch

#endif  // RUNNEL_ENCODER_LIBTORCH_TENSOR_ROWS_H_
