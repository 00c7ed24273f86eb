// Linear layers on the CPU: oneDNN matmuls whose weights are packed once, when the model loads.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_PACKED_LINEAR_H_
#define RUNNEL_ENCODER_CPU_KERNELS_PACKED_LINEAR_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "encoder/activation.h"
#include "encoder/cpu/kernels/matmul_input.h"
#include "encoder/cpu/kernels/stored_matrix.h"

namespace runnel::kernels {

// Where the result of a matmul goes.
enum class MatmulOutput {
  kStore,  // y = activation(x W^T + b)
  kAdd,    // y = y + x W^T + b: a residual connection; no activation
  kInput,  // activation(x W^T + b), in the form that the next matmul reads
};

// y = x W^T + b. A row of the result has the same bits whatever other rows there are and whatever
// its index is. With AVX-512, and with int8, the sum of a row does not depend on the number of rows
// (tests/encoder/cpu/kernels/packed_linear_test.cc). Float matmuls below AVX-512 do depend on it:
// they are always made of 16 rows, some of them empty.
//
// A matmul runs in the calling thread. Immutable; Forward may be called from several threads at
// once. It takes a lock only the first time that a number of rows occurs.
class PackedLinear {
 public:
  // weight: (output_dim, input_dim); bias: (output_dim) or null. Both are copied. Throws
  // std::runtime_error when oneDNN has no such matmul.
  PackedLinear(const float* weight, const float* bias, LinearShape shape, MatmulType type,
               MatmulOutput result, std::optional<Activation> activation = std::nullopt);
  // The same with a matrix that Stored() gave, of a layer of the same type. Throws
  // std::runtime_error if it cannot be.
  PackedLinear(const StoredMatrix& matrix, const float* bias, MatmulType type, MatmulOutput result,
               std::optional<Activation> activation = std::nullopt);
  ~PackedLinear();
  PackedLinear(PackedLinear&&) noexcept;
  PackedLinear& operator=(PackedLinear&&) noexcept;

  const LinearShape& shape() const;

  // The weights without the bias. Refers to memory of this object.
  StoredMatrix Stored() const;

  // x: (rows, input_dim), of this type; y: (rows, output_dim). For kStore and kAdd.
  void Forward(const MatmulInput& x, int64_t rows, float* y) const;
  // The same for kInput.
  void Forward(const MatmulInput& x, int64_t rows, const MatmulInput& y) const;

 private:
  struct Parts;
  PackedLinear(LinearShape shape, MatmulType type, MatmulOutput result,
               std::optional<Activation> activation);
  void Multiply(const MatmulInput& x, int64_t rows, float* y, const MatmulInput* y_input) const;

  std::unique_ptr<Parts> parts_;
};

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_PACKED_LINEAR_H_
