#include "encoder/libtorch/tensor_rows.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/util/Exception.h>

#include <cstring>

namespace runnel::libtorch {

at::ScalarType ScalarTypeOf(DataType type) {
  TORCH_INTERNAL_ASSERT(type != DataType::kBfloat16, "LibTorch computes float32 and float64");
  return type == DataType::kFloat64 ? at::kDouble : at::kFloat;
}

DataType DataTypeOf(at::ScalarType type) {
  TORCH_INTERNAL_ASSERT(type == at::kFloat || type == at::kDouble, "rows of type ", type);
  return type == at::kDouble ? DataType::kFloat64 : DataType::kFloat32;
}

at::Tensor View(Rows rows) {
  return at::from_blob(rows.data, {rows.count, rows.dim}, ScalarTypeOf(rows.type));
}

at::Tensor View(ConstRows rows) {
  // from_blob takes a pointer to non-const.
  return View(Rows{rows.type, const_cast<void*>(rows.data), rows.count, rows.dim});
}

at::Tensor View(const Tensor& weight) {
  if (!weight.defined()) return {};
  TORCH_INTERNAL_ASSERT(weight.type() == DataType::kFloat32 || weight.type() == DataType::kFloat64,
                        "a weight of type ", NameOf(weight.type()));
  // Packed weights have no values here.
  TORCH_INTERNAL_ASSERT(weight.has_values() || weight.count() == 0, "a weight without values");
  // from_blob takes a pointer to non-const.
  return at::from_blob(const_cast<void*>(weight.data()), weight.shape(),
                       weight.type() == DataType::kFloat64 ? at::kDouble : at::kFloat);
}

ConstRows View(const at::Tensor& tensor) {
  TORCH_INTERNAL_ASSERT(tensor.dim() == 2 && tensor.is_contiguous(), "rows that are not a matrix");
  return {DataTypeOf(tensor.scalar_type()), tensor.data_ptr(), tensor.size(0), tensor.size(1)};
}

at::Tensor Copy(const RowRing& ring) {
  at::Tensor rows = at::empty({ring.size(), ring.dim()}, ScalarTypeOf(ring.type()));
  const auto row_bytes = static_cast<size_t>(ring.dim() * BytesOf(ring.type()));
  auto* to = static_cast<std::byte*>(rows.data_ptr());
  for (int64_t i = 0; i < ring.size(); ++i, to += row_bytes) {
    std::memcpy(to, ring.Row(i), row_bytes);
  }
  return rows;
}

void Append(const at::Tensor& rows, int64_t limit, RowRing* ring) {
  const at::Tensor contiguous = rows.contiguous();
  // Rows of another shape or type would be read as other values.
  TORCH_INTERNAL_ASSERT(rows.dim() == 2 && rows.size(1) == ring->dim() &&
                            rows.scalar_type() == ScalarTypeOf(ring->type()),
                        "rows that do not fit the ring");
  ring->Append(contiguous.data_ptr(), ring->dim(), rows.size(0), limit);
}

}  // namespace runnel::libtorch
