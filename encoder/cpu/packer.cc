#include "encoder/cpu/packer.h"

#include <stdexcept>
#include <utility>

#include "encoder/cpu/kernels/matmul/packed_matrix.h"
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

// With columns (outer, n) as (n, outer).
Tensor WithColumnsExchanged(const Tensor& matrix, int64_t outer) {
  const int64_t rows = matrix.size(0), columns = matrix.size(1);
  if (outer == 1 || outer == columns) return matrix;
  return Transposed(matrix.Reshaped({rows, outer, columns / outer})).Reshaped({rows, columns});
}

std::string Text(kernels::LinearShape shape) {
  return "(" + std::to_string(shape.output_dim) + ", " + std::to_string(shape.input_dim) + ")";
}

}  // namespace

kernels::PackedLinear WeightPacker::Pack(const LinearWeights& weights, const LinearForm& form) {
  const Tensor matrix = WithColumnsExchanged(Scaled(weights.weight, form.scale), form.channels);
  const std::vector<float> bias = BiasOf(weights, form);
  const bool four_bits = form.type == kernels::MatmulType::kInt8 && four_bits_ != nullptr &&
                         four_bits_->has_four_bits(weights.name);
  std::optional<kernels::ErrorFeedback> feedback;
  if (four_bits) {
    const auto found = four_bits_->moments.find(weights.name);
    if (found != four_bits_->moments.end()) feedback.emplace(found->second);
  }
  return {matrix.float32(),
          DataOrNull(bias),
          ShapeOf(weights),
          form.type,
          form.output,
          form.activation,
          four_bits ? kernels::WeightFormat::kFourBits : kernels::WeightFormat::kValues,
          feedback ? &*feedback : nullptr};
}

kernels::PackedLinear ObservingPacker::Pack(const LinearWeights& weights, const LinearForm& form) {
  kernels::PackedLinear packed = WeightPacker().Pack(weights, form);
  if (!four_bits_->has_four_bits(weights.name)) return packed;
  const int64_t dim = packed.shape().input_dim;
  kernels::InputMoments& moments = four_bits_->moments.try_emplace(weights.name, dim).first->second;
  packed.set_observer([&moments](const kernels::MatmulInput& x, int64_t rows) {
    moments.Add(x.float_row(0), rows);
  });
  return packed;
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

UnpackingPacker::UnpackingPacker(const std::vector<NamedMatrix>& matrices, std::string source,
                                 std::map<std::string, Tensor>* tensors)
    : matrices_(matrices, std::move(source)), tensors_(tensors) {}

kernels::PackedLinear UnpackingPacker::Pack(const LinearWeights& weights, const LinearForm& form) {
  kernels::PackedLinear packed = matrices_.Pack(weights, form);
  const auto [input_dim, output_dim] = packed.shape();
  const Tensor values({output_dim, input_dim}, kernels::UnpackMatrix(packed.Stored(), form.type));
  const Tensor matrix =
      WithColumnsExchanged(Scaled(values, 1.0 / form.scale), input_dim / form.channels);
  // Those of a merged matrix are side by side, or one below the other.
  int64_t column = 0, row = 0;
  for (const std::string& name : MergedParts(weights.name)) {
    Tensor& tensor = tensors_->at(name);
    const int64_t rows = tensor.size(0), columns = tensor.count() / rows;
    if (!tensor.has_values()) {
      const Tensor part = Narrowed(Narrowed(matrix, 0, row, rows), 1, column, columns);
      tensor = part.Reshaped(tensor.shape());
    }
    (columns < input_dim ? column : row) += columns < input_dim ? columns : rows;
  }
  return packed;
}

}  // namespace runnel::cpu
