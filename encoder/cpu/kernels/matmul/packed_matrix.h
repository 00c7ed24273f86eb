// Weight matrices in the arrangement that the matmul kernels read, on every CPU the same.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_PACKED_MATRIX_H_
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_PACKED_MATRIX_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "encoder/cpu/kernels/matmul/four_bits.h"
#include "encoder/cpu/kernels/matmul/stored_matrix.h"
#include "encoder/cpu/kernels/matmul_input.h"

namespace runnel::kernels {

// A panel holds the weights of 32 outputs, group by group. A group is 4 bytes of a row, one float,
// two bfloat16 or four int8, of each of the outputs. A panel's rows are filled with zeros up to a
// multiple of 64 bytes, and the last panel up to 32 outputs.
constexpr int64_t kPanelOutputs = 32;
constexpr int64_t kGroupBytes = 4;
constexpr int64_t kPaddedRowBytes = 64;

// Bytes of a value of this type in a packed matrix or a row.
constexpr int64_t ValueBytes(MatmulType type) {
  return type == MatmulType::kFloat32 ? 4 : type == MatmulType::kBfloat16 ? 2 : 1;
}
// Bytes of one output's weights.
constexpr int64_t PackedRowBytes(int64_t input_dim, MatmulType type) {
  return (input_dim * ValueBytes(type) + kPaddedRowBytes - 1) / kPaddedRowBytes * kPaddedRowBytes;
}
// Bytes of a panel.
constexpr int64_t PackedPanelBytes(int64_t input_dim, MatmulType type, WeightFormat format) {
  const int64_t row_bytes = PackedRowBytes(input_dim, type);
  return format == WeightFormat::kFourBits ? row_bytes / kFourBitInputs * kFourBitBlockBytes
                                           : row_bytes * kPanelOutputs;
}
static_assert(kFourBitScaleBytes == 2 * kPanelOutputs &&
              kFourBitInputs == 2 * kFourBitPairs * kGroupBytes);
constexpr int64_t NumPanels(int64_t output_dim) {
  return (output_dim + kPanelOutputs - 1) / kPanelOutputs;
}

// (input_dim, output_dim). With int8, output n is scales[n] times the sum of the products, and
// column_sums[n] is the sum of its weights. Both are filled up to whole panels.
struct PackedMatrix {
  WeightFormat format = WeightFormat::kValues;
  const uint8_t* values = nullptr;    // aligned to 64 bytes
  std::vector<float> scales;          // int8 only
  std::vector<int32_t> column_sums;   // int8 only
  std::shared_ptr<const void> owner;  // of `values`
};

// Packs a plain (output_dim, input_dim) matrix, rounded to `type`. Throws std::runtime_error for an
// int8 matrix whose sums could leave 32 bits.
// feedback: null, or how weights of four bits are rounded.
PackedMatrix PackMatrix(const float* weight, LinearShape shape, MatmulType type,
                        WeightFormat format, const ErrorFeedback* feedback = nullptr);

// Uses the memory of `stored`. Throws std::runtime_error if its sizes are not those of its shape;
// the message goes on after the name of the matrix: "has 7 bytes of weights, expected 8".
PackedMatrix AdoptMatrix(const StoredMatrix& stored, MatmulType type);

// The values that a stored matrix multiplies with, (output_dim, input_dim): the packed weights,
// rounded as they are. Throws as AdoptMatrix does.
std::vector<float> UnpackMatrix(const StoredMatrix& stored, MatmulType type);

// Refers to the memory of `matrix`.
StoredMatrix StoredFrom(const PackedMatrix& matrix, LinearShape shape, MatmulType type);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_PACKED_MATRIX_H_
