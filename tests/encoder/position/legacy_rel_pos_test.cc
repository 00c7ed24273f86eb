// ESPnet's legacy table and shift, for utterances shorter and longer than the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/pair_formula.h"

namespace runnel {
namespace {

using testing::ModuleWeights;
using testing::Pair;

class LegacyFormula final : public testing::PairFormula {
 public:
  LegacyFormula(const ModuleWeights& weights, int64_t table_length, bool scale_after_bias)
      : weights_(weights), table_length_(table_length), scale_after_bias_(scale_after_bias) {}

  double Score(const Pair& pair) const override {
    const double before = scale_after_bias_ ? 1 : weights_.scale();
    const double sum =
        weights_.Product(pair.q, before, weights_.Bias("pos_bias_u", pair.head), pair.k) +
        Shifted(pair, before);
    return scale_after_bias_ ? sum * weights_.scale() : sum;
  }

 private:
  // B[i, m] = (q_i + v) W_pos PE(length - 1 - m); what reading the padded B row by row, one place
  // short per row, makes of it.
  double Shifted(const Pair& pair, double q_scale) const {
    const int64_t num_frames = pair.num_queries;
    const int64_t length = std::max(table_length_, num_frames);
    const int64_t distance = pair.distance();
    if (distance == -1) return 0;
    const int64_t m = distance >= 0 ? num_frames - 1 - distance : -distance - 2;
    return weights_.Product(distance >= 0 ? pair.q : pair.next_q, q_scale,
                            weights_.Bias("pos_bias_v", pair.head),
                            weights_.Position(length - 1 - m, pair.head));
  }

  const ModuleWeights& weights_;
  int64_t table_length_;
  bool scale_after_bias_;
};

TEST(LegacyRelPosTest, IsTheFormula) {
  for (const int64_t table_length : {1, 100, 5000}) {
    for (const bool after : {true, false}) {
      const std::string position = R"({"scheme": "legacy_rel_pos", "linear_pos_bias": )" +
                                   std::string(after ? "false" : "true") +
                                   R"(, "query_scaling": ")" +
                                   (after ? "after_bias" : "before_bias") +
                                   R"(", "table_length": )" + std::to_string(table_length) + "}";
      testing::ExpectAttentionIs(
          position,
          [&](const ModuleWeights& weights) {
            return std::make_unique<LegacyFormula>(weights, table_length, after);
          },
          testing::Chunks::kWholeUtteranceOnly);
    }
  }
}

}  // namespace
}  // namespace runnel
