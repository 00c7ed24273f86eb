#include "encoder/position/linear_pos.h"

#include <algorithm>

#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/kernels/scratch.h"
#include "encoder/position/sinusoids.h"

namespace runnel {
namespace {

// Positions whose sinusoids are in memory at a time.
constexpr int64_t kBlockPositions = 256;

// The sinusoids take the place of the weights, and W_pos that of the rows: so all layers multiply
// with the same packed matrix, and the results are columns.
void ProjectFloat32(const std::vector<LinearPos>& layers, ConstRows sinusoids, int64_t begin,
                    const std::vector<Rows>& columns) {
  const double* from = sinusoids.float64();
  const std::vector<float> values(from, from + sinusoids.count * sinusoids.dim);
  const kernels::PackedLinear linear(values.data(), nullptr, {sinusoids.dim, sinusoids.count},
                                     kernels::MatmulType::kFloat32, kernels::MatmulOutput::kStore);
  kernels::Scratch scratch;
  auto* products = scratch.Take<float>(sinusoids.dim * sinusoids.count);
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    const std::vector<float> bias = Float32Values(layers[layer].bias());
    kernels::MatmulInput weights;
    weights.dim = sinusoids.dim;
    const std::vector<float> unpacked = layers[layer].UnpackedWeight();
    weights.values = const_cast<float*>(  // only read
        unpacked.empty() ? layers[layer].weight().float32() : unpacked.data());
    linear.Forward(weights, sinusoids.dim, products);
    for (int64_t k = 0; k < sinusoids.dim; ++k) {
      const float* row = products + k * sinusoids.count;
      const float added = bias.empty() ? 0.0f : bias[static_cast<size_t>(k)];
      std::transform(row, row + sinusoids.count, columns[layer].float32(k) + begin,
                     [added](float value) { return value + added; });
    }
  }
}

// Of the reference, for which speed does not matter.
void ProjectFloat64(const LinearPos& layer, ConstRows sinusoids, int64_t begin, Rows columns) {
  const Tensor& bias = layer.bias();
  for (int64_t k = 0; k < sinusoids.dim; ++k) {
    const double* weights = layer.weight().float64() + k * sinusoids.dim;
    for (int64_t r = 0; r < sinusoids.count; ++r) {
      double sum = bias.defined() ? bias.float64()[k] : 0;
      for (int64_t i = 0; i < sinusoids.dim; ++i) sum += weights[i] * sinusoids.float64(r)[i];
      columns.float64(k)[begin + r] = sum;
    }
  }
}

}  // namespace

LinearPos::LinearPos(Weights* weights, const std::string& attention_name,
                     const AttentionSizes& sizes, bool bias, const PositionPacker& pack) {
  const std::string name = attention_name + ".linear_pos";
  const Shape shape{sizes.model_dim, sizes.model_dim};
  if (pack == nullptr) {
    weight_ = weights->Take(name + ".weight", shape);
  } else {
    const LinearWeights linear{name + ".weight", weights->TakeMatrix(name + ".weight", shape), {}};
    packed_ = std::make_shared<const kernels::PackedLinear>(pack(linear));
    weight_ = linear.weight.WithoutValues();
  }
  if (bias) bias_ = weights->Take(name + ".bias", {sizes.model_dim});
}

std::vector<float> LinearPos::UnpackedWeight() const {
  if (packed_ == nullptr) return {};
  return kernels::UnpackMatrix(packed_->Stored(), packed_->type());
}

void ProjectPositions(const std::vector<LinearPos>& layers, int64_t first, int64_t last,
                      int64_t begin, const std::vector<Rows>& columns) {
  const Sinusoids sinusoids(layers.at(0).dim());
  const int64_t step = first <= last ? 1 : -1;
  const int64_t num_positions = (last - first) * step + 1;
  for (int64_t done = 0; done < num_positions; done += kBlockPositions) {
    const int64_t count = std::min(kBlockPositions, num_positions - done);
    const int64_t position = first + step * done;
    const Matrix block = sinusoids.Rows(position, position + step * (count - 1));
    if (layers[0].data_type() == DataType::kFloat32) {
      ProjectFloat32(layers, block.rows(), begin + done, columns);
      continue;
    }
    for (size_t layer = 0; layer < layers.size(); ++layer) {
      ProjectFloat64(layers[layer], block.rows(), begin + done, columns[layer]);
    }
  }
}

}  // namespace runnel
