// Standard normal numbers from a seed.
#ifndef RUNNEL_TESTS_SUPPORT_RANDOM_VALUES_H_
#define RUNNEL_TESTS_SUPPORT_RANDOM_VALUES_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace runnel::testing {

// The method of Box and Muller: the same numbers with every standard library, which those of
// std::normal_distribution are not.
class NormalNumbers {
 public:
  explicit NormalNumbers(uint64_t seed) : random_(seed) {}

  double operator()() {
    if (has_second_) {
      has_second_ = false;
      return second_;
    }
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log(1 - Uniform()));
    const double angle = kTwoPi * Uniform();
    second_ = radius * std::sin(angle);
    has_second_ = true;
    return radius * std::cos(angle);
  }

 private:
  // In [0, 1), of 53 bits.
  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  std::mt19937_64 random_;
  double second_ = 0;
  bool has_second_ = false;
};

inline std::vector<float> RandomValues(int64_t count, uint64_t seed) {
  NormalNumbers normal(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(normal());
  return values;
}

}  // namespace runnel::testing

#endif  // RUNNEL_TESTS_SUPPORT_RANDOM_VALUES_H_
