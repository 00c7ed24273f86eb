#include "encoder/cpu/kernels/matmul/packed_linear.h"

#include <algorithm>
#include <utility>

namespace runnel::kernels {

PackedLinear::PackedLinear(LinearShape shape, MatmulType type, MatmulOutput output,
                           const float* bias, std::optional<Activation> activation,
                           PackedMatrix matrix)
    : shape_(shape),
      type_(type),
      output_(output),
      activation_(activation),
      bias_(static_cast<size_t>(NumPanels(shape.output_dim) * kPanelOutputs), 0.0f),
      matrix_(std::move(matrix)) {
  if (bias != nullptr) std::copy(bias, bias + shape.output_dim, bias_.begin());
}

PackedLinear::PackedLinear(const float* weight, const float* bias, LinearShape shape,
                           MatmulType type, MatmulOutput output,
                           std::optional<Activation> activation, WeightFormat format,
                           const ErrorFeedback* feedback)
    : PackedLinear(shape, type, output, bias, activation,
                   PackMatrix(weight, shape, type, format, feedback)) {}

PackedLinear::PackedLinear(const StoredMatrix& matrix, const float* bias, MatmulType type,
                           MatmulOutput output, std::optional<Activation> activation)
    : PackedLinear(matrix.shape, type, output, bias, activation, AdoptMatrix(matrix, type)) {}

StoredMatrix PackedLinear::Stored() const { return StoredFrom(matrix_, shape_, type_); }

LinearOperation PackedLinear::Operation() const {
  return {shape_, type_, &matrix_, bias_.data(), activation_};
}

void PackedLinear::Forward(const MatmulInput& x, int64_t rows, float* y) const {
  if (observer_) observer_(x, rows);
  Multiply(Operation(), x, rows, output_ == MatmulOutput::kAdd, y);
}

void PackedLinear::Forward(const MatmulInput& x, int64_t rows, const MatmulInput& y) const {
  if (observer_) observer_(x, rows);
  Multiply(Operation(), x, rows, y);
}

}  // namespace runnel::kernels
