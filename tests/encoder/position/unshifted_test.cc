// "rel_pos" without the shift: each key scored by its absolute frame.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "encoder/position/position_scheme.h"
#include "tests/support/pair_formula.h"
#include "tests/support/random_encoder.h"

namespace runnel {
namespace {

using testing::ModuleWeights;
using testing::Pair;

constexpr char kUnshifted[] = R"({"scheme": "unshifted", "linear_pos_bias": false,
                                  "query_scaling": "after_bias"})";

class UnshiftedFormula final : public testing::PairFormula {
 public:
  UnshiftedFormula(const ModuleWeights& weights, bool scale_after_bias)
      : weights_(weights), scale_after_bias_(scale_after_bias) {}

  double Score(const Pair& pair) const override {
    const double before = scale_after_bias_ ? 1 : weights_.scale();
    const double sum =
        weights_.Product(pair.q, before, weights_.Bias("pos_bias_u", pair.head), pair.k) +
        weights_.Product(pair.q, before, weights_.Bias("pos_bias_v", pair.head),
                         weights_.Position(pair.key_frame, pair.head));
    return scale_after_bias_ ? sum * weights_.scale() : sum;
  }

 private:
  const ModuleWeights& weights_;
  bool scale_after_bias_;
};

TEST(UnshiftedPositionTest, IsTheFormula) {
  testing::ExpectAttentionIs(kUnshifted, [](const ModuleWeights& weights) {
    return std::make_unique<UnshiftedFormula>(weights, true);
  });
  testing::ExpectAttentionIs(R"({"scheme": "unshifted", "linear_pos_bias": true,
                                 "query_scaling": "before_bias"})",
                             [](const ModuleWeights& weights) {
                               return std::make_unique<UnshiftedFormula>(weights, false);
                             });
}

TEST(UnshiftedPositionTest, ARowHasTheSameBitsHoweverTheStreamIsDivided) {
  const c10::InferenceMode guard;
  for (const at::ScalarType dtype : {at::kFloat, at::kDouble}) {
    testing::RandomWeightSource source(dtype, 3);
    const PositionModules modules = BuildPositions(UnshiftedPosition(), &source, {"a"}, {18, 3});
    const auto& rows = std::get<RowsByKeyFrame>(modules.layers[0].rows);
    for (const int64_t start : {0, 5, 10000007}) {
      const int64_t end = start + 200;
      const at::Tensor whole = rows.Rows(start, end);
      ASSERT_GE(whole.size(0), 200);
      for (const int64_t step : {1, 3, 16, 50}) {
        std::vector<at::Tensor> pieces;
        int64_t next = start;
        while (next < end) {
          pieces.push_back(rows.Rows(next, std::min(end, next + step)));
          EXPECT_GE(pieces.back().size(0), std::min(end, next + step) - next);
          next += pieces.back().size(0);
        }
        EXPECT_TRUE(at::equal(at::cat(pieces).narrow(0, 0, 200), whole.narrow(0, 0, 200)));
      }
    }
  }
}

}  // namespace
}  // namespace runnel
