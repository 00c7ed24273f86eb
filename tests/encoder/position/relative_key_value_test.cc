// Learned vectors per clipped distance on keys and values.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/pair_formula.h"

namespace runnel {
namespace {

using testing::ModuleWeights;
using testing::Pair;

class KeyValueFormula final : public testing::PairFormula {
 public:
  KeyValueFormula(const ModuleWeights& weights, int64_t max_distance, const std::string& prefix)
      : weights_(weights),
        max_distance_(max_distance),
        keys_(weights.At(prefix + "relative_keys")) {
    const std::string name = prefix + "relative_values";
    if (weights.Has(name)) values_ = &weights.At(name);
  }

  double Score(const Pair& pair) const override {
    const double* a = Row(keys_, pair);
    return weights_.Product(pair.q, weights_.scale(), nullptr, pair.k) +
           weights_.Product(pair.q, weights_.scale(), nullptr, a);
  }

  double ValueTerm(const Pair& pair, int64_t n) const override {
    return values_ == nullptr ? 0 : Row(*values_, pair)[n];
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
  const std::vector<double>& keys_;
  const std::vector<double>* values_ = nullptr;
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
