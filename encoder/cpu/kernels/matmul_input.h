// Rows in the form in which a product with packed weights reads them.
// Flow: packets -> frontend -> encoder (this) -> runtime -> tools.
#ifndef RUNNEL_ENCODER_KERNELS_PRODUCT_INPUT_H_
#define RUNNEL_ENCODER_KERNELS_PRODUCT_INPUT_H_

#include <cstdint>

#include "encoder/kernels/scratch.h"

namespace runnel::kernels {

// In which numbers the large products multiply. Sums are float32 or exact (int32) in each.
enum class ProductPrecision {
  kFloat32,
  kBfloat16,  // both factors rounded to the nearest bfloat16
  kInt8,      // weights: int8 by one scale per output; rows: uint8 by their own range
};

// A view of (rows, dim) values, contiguous. Every operation before a product writes its result in
// this form, row by row, so that rounding and quantising cost no pass of their own.
struct ProductInput {
  ProductPrecision precision = ProductPrecision::kFloat32;
  int64_t dim = 0;
  void* values = nullptr;  // float, uint16_t (the bits of a bfloat16) or uint8_t
  // kInt8: a row's value is (uint8 - zero_point) * scale.
  float* scales = nullptr;
  int32_t* zero_points = nullptr;

  // Room for `rows` rows, not initialised.
  static ProductInput Take(Scratch* scratch, ProductPrecision precision, int64_t rows,
                           int64_t dim) {
    ProductInput input;
    input.precision = precision;
    input.dim = dim;
    switch (precision) {
      case ProductPrecision::kFloat32:
        input.values = scratch->Take<float>(rows * dim);
        break;
      case ProductPrecision::kBfloat16:
        input.values = scratch->Take<uint16_t>(rows * dim);
        break;
      case ProductPrecision::kInt8:
        input.values = scratch->Take<uint8_t>(rows * dim);
        input.scales = scratch->Take<float>(rows);
        input.zero_points = scratch->Take<int32_t>(rows);
        break;
    }
    return input;
  }

  float* float_row(int64_t row) const { return static_cast<float*>(values) + row * dim; }
  uint16_t* bfloat16_row(int64_t row) const { return static_cast<uint16_t*>(values) + row * dim; }
  uint8_t* uint8_row(int64_t row) const { return static_cast<uint8_t*>(values) + row * dim; }

  // The rows from `row` on.
  ProductInput From(int64_t row) const {
    ProductInput rest = *this;
    switch (precision) {
      case ProductPrecision::kFloat32:
        rest.values = float_row(row);
        break;
      case ProductPrecision::kBfloat16:
        rest.values = bfloat16_row(row);
        break;
      case ProductPrecision::kInt8:
        rest.values = uint8_row(row);
        rest.scales += row;
        rest.zero_points += row;
        break;
    }
    return rest;
  }
};

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_KERNELS_PRODUCT_INPUT_H_
