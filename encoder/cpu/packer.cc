#include "encoder/cpu/packer.h"

#include <stdexcept>
#include <utility>

#include "encoder/encoder_weights.h"

namespace runnel::cpu {
namespace {

kernels::LinearShape ShapeOf(const LinearWeights& weights) {
  return {weights.weight.size(1), weights.weight.size(0)};
}

// Empty for a layer without a bias.
std::vector<float> BiasOf(const LinearWeights& weights, const LinearForm& form) {
  return Float32Values(Scaled(weights.bias, form.scale));
}

const float* DataOrNull(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

std::string Text(kernels::LinearShape shape) {
  return "(" + std::to_string(shape.output_dim) + ", " + std::to_string(shape.input_dim) + ")";
}

}  // namespace

kernels::PackedLinear WeightPacker::Pack(const LinearWeights& weights, const LinearForm& form) {
  const Tensor matrix = Scaled(weights.weight, form.scale);
  const std::vector<float> bias = BiasOf(weights, form);
  return {matrix.float32(), DataOrNull(bias), ShapeOf(weights),
          form.type,        form.output,      form.activation};
}

kernels::PackedLinear RecordingPacker::Pack(const LinearWeights& weights, const LinearForm& form) {
  kernels::PackedLinear packed = packer_.Pack(weights, form);
  matrices_.push_back({weights.name, packed.Stored()});
  return packed;
}

StoredMatrices::StoredMatrices(const std::vector<NamedMatrix>& matrices, std::string source)
    : source_(std::move(source)) {
  for (const auto& [name, matrix] : matrices) {
    if (!matrices_.emplace(name, matrix).second) Fail(name, "is there twice, expected once");
  }
}

kernels::PackedLinear StoredMatrices::Pack(const LinearWeights& weights, const LinearForm& form) {
  const kernels::LinearShape shape = ShapeOf(weights);
  const auto found = matrices_.extract(weights.name);
  if (found.empty()) Fail(weights.name, "is missing, expected shape " + Text(shape));
  const kernels::StoredMatrix& matrix = found.mapped();
  if (matrix.shape.input_dim != shape.input_dim || matrix.shape.output_dim != shape.output_dim) {
    Fail(weights.name, "has shape " + Text(matrix.shape) + ", expected " + Text(shape));
  }
  const std::vector<float> bias = BiasOf(weights, form);
  try {
    return {matrix, DataOrNull(bias), form.type, form.output, form.activation};
  } catch (const std::runtime_error& error) {
    Fail(weights.name, error.what());
  }
}

void StoredMatrices::CheckAllTaken() const {
  std::string left_over;
  for (const auto& [name, matrix] : matrices_) {
    left_over += (left_over.empty() ? "" : ", ") + name;
  }
  if (left_over.empty()) return;
  throw std::runtime_error(
      source_ + ": packed matrices that the configuration does not call for: " + left_over);
}

void StoredMatrices::Fail(const std::string& name, const std::string& problem) const {
  throw std::runtime_error(source_ + ": packed matrix " + name + " " + problem);
}

}  // namespace runnel::cpu
