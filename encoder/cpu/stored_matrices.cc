#include "encoder/cpu/stored_matrices.h"

#include <stdexcept>
#include <utility>

namespace runnel::cpu {
namespace {

std::string Text(kernels::LinearShape shape) {
  return "(" + std::to_string(shape.output_dim) + ", " + std::to_string(shape.input_dim) + ")";
}

}  // namespace

StoredMatrices::StoredMatrices(std::vector<kernels::StoredMatrix> matrices, std::string source)
    : matrices_(std::move(matrices)), source_(std::move(source)) {}

const kernels::StoredMatrix& StoredMatrices::Take(kernels::LinearShape shape) {
  const std::string name = source_ + ": packed matrix " + std::to_string(num_taken_);
  if (num_taken_ == matrices_.size()) {
    throw std::runtime_error(name + " is missing, expected shape " + Text(shape));
  }
  const kernels::StoredMatrix& matrix = matrices_[num_taken_];
  if (matrix.shape.input_dim != shape.input_dim || matrix.shape.output_dim != shape.output_dim) {
    throw std::runtime_error(name + " has shape " + Text(matrix.shape) + ", expected " +
                             Text(shape));
  }
  ++num_taken_;
  return matrix;
}

void StoredMatrices::CheckAllTaken() const {
  if (num_taken_ == matrices_.size()) return;
  throw std::runtime_error(source_ + ": holds " + std::to_string(matrices_.size()) +
                           " packed matrices, expected " + std::to_string(num_taken_));
}

}  // namespace runnel::cpu
