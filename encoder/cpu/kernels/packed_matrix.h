// Weight matrices in the layout that oneDNN's matmuls read: packed here, or used where they lie.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_PACKED_MATRIX_H_
#define RUNNEL_ENCODER_CPU_KERNELS_PACKED_MATRIX_H_

#include <cstdint>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "encoder/cpu/kernels/matmul_input.h"
#include "encoder/cpu/kernels/stored_matrix.h"

namespace runnel::kernels {

// The one engine of all matmuls: this CPU.
const dnnl::engine& Engine();

// (input_dim, output_dim). With int8, output n is scales[n] times the sum of the products, and
// column_sums[n] is the sum of its weights.
struct PackedMatrix {
  dnnl::memory values;
  std::vector<float> scales;          // (output_dim), int8 only
  std::vector<int32_t> column_sums;   // (output_dim), int8 only
  std::shared_ptr<const void> owner;  // of the memory of `values`; null: `values` itself
};

// Packs a plain (output_dim, input_dim) matrix, rounded to `type`, in the layout `wanted`. Throws
// std::runtime_error for an int8 matrix whose sums could leave 32 bits, and dnnl::error.
PackedMatrix PackMatrix(const float* weight, LinearShape shape, MatmulType type,
                        const dnnl::memory::desc& wanted);

// Uses the memory of `stored` if its layout is `wanted`; otherwise packs a copy. Throws
// std::runtime_error if `stored` is not what StoredFrom gives, or another version of oneDNN made
// it.
PackedMatrix AdoptMatrix(const StoredMatrix& stored, MatmulType type,
                         const dnnl::memory::desc& wanted);

// Refers to the memory of `matrix`.
StoredMatrix StoredFrom(const PackedMatrix& matrix, LinearShape shape);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_PACKED_MATRIX_H_
