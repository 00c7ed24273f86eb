// Rows in the form that a matmul with packed weights reads.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_INPUT_H_
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_INPUT_H_

#include <cstdint>

#include "encoder/cpu/kernels/scratch.h"

namespace runnel::kernels {

// A value of a quantised row. The dot products of x86 multiply uint8 by int8, those of ARM int8 by
// int8.
#if defined(__aarch64__)
using QuantizedValue = int8_t;
#else
using QuantizedValue = uint8_t;
#endif

// The data type that large matmuls multiply. Sums are float32 or, for kInt8, exact (int32).
enum class MatmulType {
  kFloat32,
  kBfloat16,  // both factors are rounded to the nearest bfloat16
  kInt8,      // weights: int8 by one scale per output; rows: QuantizedValue by their own range
};

// A view of (rows, dim) values, contiguous. Every operation before a matmul writes its result in
// this form, row by row, so that rounding and quantising need no pass of their own.
struct MatmulInput {
  MatmulType type = MatmulType::kFloat32;
  int64_t dim = 0;
  void* values = nullptr;  // float, uint16_t (the bits of a bfloat16) or QuantizedValue
  // kInt8: a row's value is (quantised - zero_point) * scale.
  float* scales = nullptr;
  int32_t* zero_points = nullptr;

  // Memory for `rows` rows, not initialised.
  static MatmulInput Take(Scratch* scratch, MatmulType type, int64_t rows, int64_t dim) {
    MatmulInput input;
    input.type = type;
    input.dim = dim;
    switch (type) {
      case MatmulType::kFloat32:
        input.values = scratch->Take<float>(rows * dim);
        break;
      case MatmulType::kBfloat16:
        input.values = scratch->Take<uint16_t>(rows * dim);
        break;
      case MatmulType::kInt8:
        input.values = scratch->Take<QuantizedValue>(rows * dim);
        input.scales = scratch->Take<float>(rows);
        input.zero_points = scratch->Take<int32_t>(rows);
        break;
    }
    return input;
  }

  float* float_row(int64_t row) const { return static_cast<float*>(values) + row * dim; }
  uint16_t* bfloat16_row(int64_t row) const { return static_cast<uint16_t*>(values) + row * dim; }
  QuantizedValue* quantized_row(int64_t row) const {
    return static_cast<QuantizedValue*>(values) + row * dim;
  }

  // The rows from `row` on.
  MatmulInput From(int64_t row) const {
    MatmulInput rest = *this;
    switch (type) {
      case MatmulType::kFloat32:
        rest.values = float_row(row);
        break;
      case MatmulType::kBfloat16:
        rest.values = bfloat16_row(row);
        break;
      case MatmulType::kInt8:
        rest.values = quantized_row(row);
        rest.scales += row;
        rest.zero_points += row;
        break;
    }
    return rest;
  }
};

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_INPUT_H_
