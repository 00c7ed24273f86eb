#include "tools/benchmark/random/weights.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randn.h>

#include <cmath>

namespace runnel {
namespace {

constexpr uint64_t kWeightSeed = 1;

}  // namespace

RandomWeights::RandomWeights(at::ScalarType dtype)
    : Weights({}, dtype, "random weights"),
      generator_(at::detail::createCPUGenerator(kWeightSeed)) {}

at::Tensor RandomWeights::Take(const std::string& /*name*/, const std::vector<int64_t>& shape) {
  int64_t inputs = 1;
  for (size_t i = 1; i < shape.size(); ++i) inputs *= shape[i];
  const at::Tensor tensor = at::randn(shape, generator_, at::TensorOptions(at::kFloat));
  return (tensor / std::sqrt(static_cast<double>(inputs))).to(dtype());
}

}  // namespace runnel
