// A packed weight matrix as bytes, for model files that hold packed weights.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_STORED_MATRIX_H_
#define RUNNEL_ENCODER_CPU_KERNELS_STORED_MATRIX_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace runnel::kernels {

struct LinearShape {
  int64_t input_dim;
  int64_t output_dim;
};

// Refers to memory that `owner` keeps, or, if that is null, whoever handed it out. `values` begins
// at a multiple of 64 bytes, the others at a multiple of 4.
struct StoredMatrix {
  LinearShape shape;
  std::string_view layout;       // oneDNN's description of how `values` are arranged
  std::string_view values;       // packed weights
  std::string_view scales;       // int8: (output_dim), float32
  std::string_view column_sums;  // int8: (output_dim), int32
  std::shared_ptr<const void> owner;
};

// What stored matrices depend on besides the model: the version of oneDNN, and for int8 the range
// of the weights, which is smaller on CPUs without exact sums (UsedInstructionSet). Matrices can be
// used where it is equal. A CPU whose matmuls read another layout packs a copy.
std::string StoredMatrixKind(bool int8);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_STORED_MATRIX_H_
