// "rel_pos" without the shift: each key scored by its absolute frame.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <variant>
#include <vector>

#include "encoder/position/position_scheme.h"
#include "encoder/rows.h"
#include "tests/support/matrices.h"
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
  for (const DataType type : {DataType::kFloat32, DataType::kFloat64}) {
    testing::RandomWeightSource source(type, 3);
    const PositionModules modules = BuildPositions(UnshiftedPosition(), &source, {"a"}, {18, 3});
    const LinearPos& linear_pos = std::get<RowsByKeyFrame>(modules.layers[0].rows).linear_pos;
    for (const int64_t start : {0, 5, 10000007}) {
      constexpr int64_t kFrames = 300;
      Matrix whole(type, kFrames, linear_pos.dim());
      ProjectPositions({linear_pos}, start, start + kFrames - 1, 0, {whole.rows()});
      for (const int64_t step : {1, 3, 16, 50}) {
        Matrix pieces(type, kFrames, linear_pos.dim());
        for (int64_t next = 0; next < kFrames; next += step) {
          ProjectPositions({linear_pos}, start + next, start + std::min(kFrames, next + step) - 1,
                           next, {pieces.rows()});
        }
        EXPECT_TRUE(testing::EqualBits(pieces, whole)) << start << ", " << step;
      }
    }
  }
}

}  // namespace
}  // namespace runnel
