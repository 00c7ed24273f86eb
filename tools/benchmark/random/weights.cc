#include "tools/benchmark/random/weights.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tools/benchmark/random/normal_values.h"

namespace runnel {
namespace {

constexpr uint64_t kWeightSeed = 1;

}  // namespace

RandomWeights::RandomWeights(DataType type)
    : Weights({}, type, "random weights"), random_(kWeightSeed) {}

Tensor RandomWeights::Take(const std::string& /*name*/, const Shape& shape) {
  int64_t inputs = 1;
  for (size_t i = 1; i < shape.size(); ++i) inputs *= shape[i];
  std::vector<float> values =
      NormalValues(inputs * shape.at(0), 1 / std::sqrt(static_cast<float>(inputs)), &random_);
  if (data_type() == DataType::kFloat32) return {shape, std::move(values)};
  return {shape, std::vector<double>(values.begin(), values.end())};
}

}  // namespace runnel
