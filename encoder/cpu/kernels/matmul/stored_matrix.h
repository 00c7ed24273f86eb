// A packed weight matrix as bytes, for model files that hold packed weights.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_STORED_MATRIX_H_
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_STORED_MATRIX_H_

#include <cstdint>
#include <memory>
#include <string_view>

namespace runnel::kernels {

enum class WeightFormat {
  kValues,    // in the data type of their matmul
  kFourBits,  // four_bits.h; of int8 matmuls
};

struct LinearShape {
  int64_t input_dim;
  int64_t output_dim;
};

// Refers to memory that `owner` keeps, or, if that is null, whoever handed it out. `values` begins
// at a multiple of 64 bytes, the others at a multiple of 4.
struct StoredMatrix {
  LinearShape shape;
  WeightFormat format = WeightFormat::kValues;
  std::string_view values;       // packed weights (packed_matrix.h)
  std::string_view scales;       // int8: (output_dim), float32
  std::string_view column_sums;  // int8: (output_dim), int32
  std::shared_ptr<const void> owner;
};

// The arrangement of stored matrices. It is the same on every CPU; a file of another arrangement is
// of another version of Runnel.
constexpr char kStoredMatrixKind[] = "panels of 32 outputs, groups of 4 bytes, rows of 64 bytes";

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_STORED_MATRIX_H_
