// Rotary positions: the scores of rotated queries and keys.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "tests/support/pair_formula.h"

namespace runnel {
namespace {

using testing::ModuleWeights;
using testing::Pair;

// Pairs of elements as complex numbers: the real part of q conj(k) turned by the distance.
class RotaryFormula final : public testing::PairFormula {
 public:
  explicit RotaryFormula(const ModuleWeights& weights) : weights_(weights) {}

  double Score(const Pair& pair) const override {
    const int64_t count = weights_.head_dim() / 2;
    // Sine and cosine of each pair in turn.
    const std::vector<double> angles = testing::SinusoidsByFormula(pair.distance(), 2 * count);
    double sum = 0;
    for (int64_t m = 0; m < count; ++m) {
      const double real = pair.q[m] * pair.k[m] + pair.q[m + count] * pair.k[m + count];
      const double imaginary = pair.q[m + count] * pair.k[m] - pair.q[m] * pair.k[m + count];
      const auto at = static_cast<size_t>(2 * m);
      sum += real * angles[at + 1] - imaginary * angles[at];
    }
    return sum * weights_.scale();
  }

 private:
  const ModuleWeights& weights_;
};

TEST(RotaryPositionTest, IsTheFormula) {
  testing::ExpectAttentionIs(R"({"scheme": "rotary"})", [](const ModuleWeights& weights) {
    return std::make_unique<RotaryFormula>(weights);
  });
}

}  // namespace
}  // namespace runnel
