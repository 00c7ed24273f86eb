// Relative positions with the shift, with and without a bounded radius.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "encoder/encoder.h"
#include "encoder/position/distances.h"
#include "encoder/rows.h"
#include "tests/support/arithmetic.h"
#include "tests/support/matrices.h"
#include "tests/support/pair_formula.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"

namespace runnel {
namespace {

using testing::ExpectAttentionIs;
using testing::ModuleWeights;
using testing::Pair;

struct Variant {
  bool scale_after_bias = true;
  bool descending = true;
  int64_t max_distance = std::numeric_limits<int64_t>::max();
};

class RelativeFormula final : public testing::PairFormula {
 public:
  RelativeFormula(const ModuleWeights& weights, const Variant& variant)
      : weights_(weights), variant_(variant) {}

  double Score(const Pair& pair) const override {
    const int64_t distance =
        std::clamp(pair.distance(), -variant_.max_distance, variant_.max_distance);
    const double* p = weights_.Position(variant_.descending ? distance : -distance, pair.head);
    const double before = variant_.scale_after_bias ? 1 : weights_.scale();
    const double sum =
        weights_.Product(pair.q, before, weights_.Bias("pos_bias_u", pair.head), pair.k) +
        weights_.Product(pair.q, before, weights_.Bias("pos_bias_v", pair.head), p);
    return variant_.scale_after_bias ? sum * weights_.scale() : sum;
  }

 private:
  const ModuleWeights& weights_;
  Variant variant_;
};

testing::MakeFormula Formula(const Variant& variant) {
  return [variant](const ModuleWeights& weights) {
    return std::make_unique<RelativeFormula>(weights, variant);
  };
}

TEST(ChunkRpeTest, IsTheFormula) {
  ExpectAttentionIs(R"({"scheme": "chunk_rpe", "linear_pos_bias": false,
                        "query_scaling": "after_bias", "table_order": "descending"})",
                    Formula({}));
}

TEST(ChunkRpeTest, IsTheFormulaInIcefallsVariant) {
  ExpectAttentionIs(R"({"scheme": "chunk_rpe", "linear_pos_bias": false,
                        "query_scaling": "before_bias", "table_order": "ascending"})",
                    Formula({false, false}));
}

TEST(ChunkRpeTest, IsTheFormulaWithABiasOfThePositions) {
  ExpectAttentionIs(R"({"scheme": "chunk_rpe", "linear_pos_bias": true,
                        "query_scaling": "after_bias", "table_order": "ascending"})",
                    Formula({true, false}));
}

// The table of the usual distances, those of other chunks, and one that grows from there.
TEST(ChunkRpeTest, DistancesFromTheStartChangeNoResult) {
  constexpr uint64_t kSeed = 11;
  for (const char* position :
       {R"({"scheme": "chunk_rpe", "linear_pos_bias": true, "query_scaling": "after_bias",
            "table_order": "descending"})",
        R"({"scheme": "bounded_rpe", "linear_pos_bias": false, "query_scaling": "after_bias",
            "table_order": "ascending", "radius": 6})"}) {
    const EncoderConfig config = testing::SmallConfig(position);
    const Matrix features = testing::RandomFeatures(config, 300, kSeed);
    testing::Arithmetic prepared = testing::CpuArithmetic();
    prepared.cpu->usual_distances = DistancesBetween(8, 4, 12);
    const Encoder with = testing::RandomEncoder(config, prepared, kSeed);
    const Encoder without = testing::RandomEncoder(config, testing::CpuArithmetic(), kSeed);
    for (const auto& [chunk_size, left_context] : {std::pair(4, 8), {3, 5}, {9, 30}, {4, -1}}) {
      EXPECT_TRUE(
          testing::EqualBits(testing::RunAlone(with, features, chunk_size, left_context),
                             testing::RunAlone(without, features, chunk_size, left_context)))
          << position << ", C=" << chunk_size << " M=" << left_context;
    }
  }
}

TEST(BoundedRpeTest, IsTheFormula) {
  for (const int64_t radius : {1, 2, 20, 1000}) {
    ExpectAttentionIs(R"({"scheme": "bounded_rpe", "linear_pos_bias": false,
                          "query_scaling": "after_bias", "table_order": "descending",
                          "radius": )" +
                          std::to_string(radius) + "}",
                      Formula({true, true, radius - 1}));
  }
  ExpectAttentionIs(R"({"scheme": "bounded_rpe", "linear_pos_bias": true, "radius": 5,
                        "query_scaling": "before_bias", "table_order": "ascending"})",
                    Formula({false, false, 4}));
}

}  // namespace
}  // namespace runnel
