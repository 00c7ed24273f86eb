// Random weights, for layers that are measured without a model.
#ifndef RUNNEL_TOOLS_BENCHMARK_RANDOM_WEIGHTS_H_
#define RUNNEL_TOOLS_BENCHMARK_RANDOM_WEIGHTS_H_

#include <random>
#include <string>

#include "encoder/model_file/tensor.h"
#include "encoder/model_file/weights.h"

namespace runnel {

// Returns any tensor that is requested. Values are seeded and scaled so that activations stay
// near 1.
class RandomWeights final : public Weights {
 public:
  explicit RandomWeights(DataType type);

  Tensor Take(const std::string& name, const Shape& shape) override;

 private:
  std::mt19937_64 random_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_RANDOM_WEIGHTS_H_
