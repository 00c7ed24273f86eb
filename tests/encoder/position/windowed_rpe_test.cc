// Relative positions with a window of keys that moves with the query.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "tests/support/pair_formula.h"

namespace runnel {
namespace {

using testing::ModuleWeights;
using testing::Pair;

class WindowedFormula final : public testing::PairFormula {
 public:
  WindowedFormula(const ModuleWeights& weights, int64_t left, int64_t right)
      : weights_(weights), left_(left), right_(right) {}

  double Score(const Pair& pair) const override {
    const int64_t distance = pair.distance();
    if ((left_ >= 0 && distance > left_) || (right_ >= 0 && distance < -right_)) {
      return -std::numeric_limits<double>::infinity();
    }
    const double sum = weights_.Product(pair.q, 1, weights_.Bias("pos_bias_u", pair.head), pair.k) +
                       weights_.Product(pair.q, 1, weights_.Bias("pos_bias_v", pair.head),
                                        weights_.Position(distance, pair.head));
    return sum * weights_.scale();
  }

 private:
  const ModuleWeights& weights_;
  int64_t left_;
  int64_t right_;
};

TEST(WindowedRpeTest, IsTheFormula) {
  struct Window {
    int64_t left;
    int64_t right;
  };
  for (const auto [left, right] :
       {Window{16, 16}, {0, 0}, {7, 2}, {3, -1}, {-1, 5}, {1000, 1000}}) {
    testing::ExpectAttentionIs(
        R"({"scheme": "windowed_rpe", "linear_pos_bias": false, "query_scaling": "after_bias",
            "table_order": "descending", "left": )" +
            std::to_string(left) + R"(, "right": )" + std::to_string(right) + "}",
        [left = left, right = right](const ModuleWeights& weights) {
          return std::make_unique<WindowedFormula>(weights, left, right);
        },
        testing::Chunks::kWholeUtteranceOnly);
  }
}

}  // namespace
}  // namespace runnel
