// Values from the standard normal distribution, for layers that are measured without a model.
#ifndef RUNNEL_TOOLS_BENCHMARK_RANDOM_NORMAL_VALUES_H_
#define RUNNEL_TOOLS_BENCHMARK_RANDOM_NORMAL_VALUES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace runnel {

// `deviation`: standard deviation.
inline std::vector<float> NormalValues(int64_t count, float deviation, std::mt19937_64* random) {
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(static_cast<size_t>(count));
  std::generate(values.begin(), values.end(), [&] { return normal(*random); });
  return values;
}

}  // namespace runnel

#endif  // RUNNEL_TOOLS_BENCHMARK_RANDOM_NORMAL_VALUES_H_
