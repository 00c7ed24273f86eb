// Random weights, for layers that are measured without a model.
#ifndef RUNNEL_TOOLS_BENCHMARK_RANDOM_WEIGHTS_H_
#define RUNNEL_TOOLS_BENCHMARK_RANDOM_WEIGHTS_H_

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

#include "encoder/model_file/weights.h"

namespace runnel {

// Returns any tensor that is requested. Values are seeded and scaled so that activations stay
// near 1.
class RandomWeights final : public Weights {
 public:
  explicit RandomWeights(at::ScalarType dtype);

  at::Tensor Take(const std::string& name, const std::vector<int64_t>& shape) override;

 private:
  at::Generator generator_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_RANDOM_WEIGHTS_H_
