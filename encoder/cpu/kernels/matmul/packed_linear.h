// Linear layers on the CPU. Weights are packed once, when the model loads.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_MATMUL_PACKED_LINEAR_H_
#define RUNNEL_ENCODER_CPU_KERNELS_MATMUL_PACKED_LINEAR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "encoder/activation.h"
#include "encoder/cpu/kernels/matmul/matmul_kernel.h"
#include "encoder/cpu/kernels/matmul/packed_matrix.h"
#include "encoder/cpu/kernels/matmul/stored_matrix.h"
#include "encoder/cpu/kernels/matmul_input.h"

namespace runnel::kernels {

// Where the result of a matmul goes.
enum class MatmulOutput {
  kStore,  // y = activation(x W^T + b)
  kAdd,    // y = y + x W^T + b: a residual connection; no activation
  kInput,  // activation(x W^T + b), in the form that the next matmul reads
};

// y = x W^T + b. A row of the result has the same bits whatever other rows there are and whatever
// its index is (tests/encoder/cpu/kernels/matmul/packed_linear_test.cc).
//
// A matmul runs in the calling thread, or in those of its step (step_threads.h). Immutable; Forward
// may be called from several threads at once.
class PackedLinear {
 public:
  // weight: (output_dim, input_dim); bias: (output_dim) or null. Both are copied. Throws
  // std::runtime_error for an int8 layer of more than 65,536 inputs.
  PackedLinear(const float* weight, const float* bias, LinearShape shape, MatmulType type,
               MatmulOutput output, std::optional<Activation> activation = std::nullopt,
               WeightFormat format = WeightFormat::kValues,
               const ErrorFeedback* feedback = nullptr);
  // The same with a matrix that Stored() gave, of a layer of the same type. Throws as AdoptMatrix
  // does.
  PackedLinear(const StoredMatrix& matrix, const float* bias, MatmulType type, MatmulOutput output,
               std::optional<Activation> activation = std::nullopt);

  const LinearShape& shape() const { return shape_; }
  MatmulType type() const { return type_; }

  // Every Forward shows its rows before it computes.
  using RowObserver = std::function<void(const MatmulInput& x, int64_t rows)>;
  void set_observer(RowObserver observer) { observer_ = std::move(observer); }

  // The weights without the bias. Refers to memory of this object.
  StoredMatrix Stored() const;

  // x: (rows, input_dim), of this type; y: (rows, output_dim). For kStore and kAdd.
  void Forward(const MatmulInput& x, int64_t rows, float* y) const;
  // The same for kInput.
  void Forward(const MatmulInput& x, int64_t rows, const MatmulInput& y) const;

 private:
  PackedLinear(LinearShape shape, MatmulType type, MatmulOutput output, const float* bias,
               std::optional<Activation> activation, PackedMatrix matrix);
  LinearOperation Operation() const;

  LinearShape shape_;
  MatmulType type_;
  MatmulOutput output_;
  std::optional<Activation> activation_;
  std::vector<float> bias_;  // filled up to whole panels
  PackedMatrix matrix_;
  RowObserver observer_;  // usually none
};

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_MATMUL_PACKED_LINEAR_H_
