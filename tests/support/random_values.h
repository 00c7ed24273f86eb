// Standard normal numbers from a seed.
#ifndef RUNNEL_TESTS_SUPPORT_RANDOM_VALUES_H_
#define RUNNEL_TESTS_SUPPORT_RANDOM_VALUES_H_

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace runnel::testing {

inline std::vector<float> RandomValues(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RANDOM_VALUES_H_
