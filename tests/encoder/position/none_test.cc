// Attention without positions.
#include <gtest/gtest.h>

#include "tests/support/pair_formula.h"

namespace runnel {
namespace {

class ContentOnly final : public testing::PairFormula {
 public:
  explicit ContentOnly(const testing::ModuleWeights& weights) : weights_(weights) {}

  double Score(const testing::Pair& pair) const override {
    return weights_.Product(pair.q, weights_.scale(), nullptr, pair.k);
  }

 private:
  const testing::ModuleWeights& weights_;
};

TEST(NoPositionTest, IsTheFormula) {
  // Absolute positions come in before layer 0: attention itself is the same.
  for (const char* position : {R"({"scheme": "none"})", R"({"scheme": "absolute"})"}) {
    testing::ExpectAttentionIs(position, [](const testing::ModuleWeights& weights) {
      return std::make_unique<ContentOnly>(weights);
    });
  }
}

}  // namespace
}  // namespace runnel
