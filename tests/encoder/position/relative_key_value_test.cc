// Learned vectors per clipped distance on keys and values.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/support/pair_formula.h"

namespace runnel {
namespace {

using testing::ModuleWeights;
using testing::Pair;

class KeyValueFormula final : public testing::PairFormula {
 public:
  KeyValueFormula(const ModuleWeights& weights, int64_t max_distance, std::string prefix)
      : weights_(weights), max_distance_(max_distance), prefix_(std::move(prefix)) {}

  double Score(const Pair& pair) const override {
    const double* a = Row(weights_.At(prefix_ + "relative_keys"), pair);
    return weights_.Product(pair.q, weights_.scale(), nullptr, pair.k) +
           weights_.Product(pair.q, weights_.scale(), nullptr, a);
  }

  double ValueTerm(const Pair& pair, int64_t n) const override {
    const std::string name = prefix_ + "relative_values";
    return weights_.Has(name) ? Row(weights_.At(name), pair)[n] : 0;
  }

 private:
  const double* Row(const std::vector<double>& table, const Pair& pair) const {
    const int64_t index =
        std::clamp(pair.key_frame - pair.query_frame, -max_distance_, max_distance_) +
        max_distance_;
    return table.data() + index * weights_.head_dim();
  }

  const ModuleWeights& weights_;
  int64_t max_distance_;
  std::string prefix_;
};

TEST(RelativeKeyValueTest, IsTheFormula) {
  for (const int64_t max_distance : {0, 1, 16, 600}) {
    for (const bool values : {true, false}) {
      const bool shared = max_distance == 16;
      const std::string position = R"({"scheme": "relative_key_value", "max_distance": )" +
                                   std::to_string(max_distance) + R"(, "values": )" +
                                   (values ? "true" : "false") + R"(, "shared": )" +
                                   (shared ? "true}" : "false}");
      testing::ExpectAttentionIs(position, [&](const ModuleWeights& weights) {
        const std::string prefix = shared ? "encoder." : "";
        EXPECT_TRUE(weights.Has(prefix + "relative_keys"));
        EXPECT_EQ(weights.Has(prefix + "relative_values"), values);
        return std::make_unique<KeyValueFormula>(weights, max_distance, prefix);
      });
    }
  }
}

}  // namespace
}  // namespace runnel
