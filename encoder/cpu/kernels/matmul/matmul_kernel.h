// The multiplication of rows with a packed matrix, vectorised for the instruction set of the CPU.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_KERNEL_H_
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_KERNEL_H_

#include <cstdint>
#include <optional>

#include "encoder/activation.h"
#include "encoder/cpu/kernels/matmul/packed_matrix.h"
#include "encoder/cpu/kernels/matmul_input.h"

namespace runnel::kernels {

// activation(x W^T + b).
struct LinearOperation {
  LinearShape shape;
  MatmulType type;
  const PackedMatrix* matrix;
  const float* bias;  // filled up to whole panels
  std::optional<Activation> activation;
};

// y: (rows, output_dim), overwritten or added to. Every row's sums are formed in the same order
// whatever other rows there are. May be called from several threads at once.
void Multiply(const LinearOperation& linear, const MatmulInput& x, int64_t rows, bool add,
              float* y);
// The same, in the form that the next matmul reads.
void Multiply(const LinearOperation& linear, const MatmulInput& x, int64_t rows,
              const MatmulInput& y);

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_MATMUL_KERNEL_H_
