// The comparisons behind verify_streaming.
#include "tools/reference/comparison.h"

#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include "tests/support/error_message.h"
#include "tools/reference/head_runs.h"

namespace runnel {
namespace {

using testing::ErrorMessage;

TEST(DifferenceBetweenTest, IsRelativeToTheLargestMagnitudeOrToOne) {
  const Difference large = DifferenceBetween(at::full({2, 2}, 10.1), at::full({2, 2}, 10.0));
  EXPECT_NEAR(large.absolute, 0.1, 1e-6);
  EXPECT_NEAR(large.relative, 0.01, 1e-7);
  const Difference small = DifferenceBetween(at::full({2, 2}, 0.2), at::full({2, 2}, 0.1));
  EXPECT_NEAR(small.absolute, 0.1, 1e-6);
  EXPECT_NEAR(small.relative, 0.1, 1e-6);
  EXPECT_EQ(DifferenceBetween(at::zeros({0, 3}), at::zeros({0, 3})).absolute, 0);
}

TEST(DifferenceBetweenTest, IsNotANumberWhereAValueIsNone) {
  const at::Tensor bad = at::full({1, 1}, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(std::isnan(DifferenceBetween(bad, at::ones({1, 1})).absolute));
  EXPECT_TRUE(std::isnan(DifferenceBetween(bad, at::ones({1, 1})).relative));
}

TEST(DifferenceBetweenTest, DifferentShapesAreAnError) {
  EXPECT_EQ(ErrorMessage<std::runtime_error>([] {
              DifferenceBetween(at::zeros({2, 3}), at::zeros({1, 3}));
            }),
            "results of different shape: [2, 3] and [1, 3]");
}

TEST(NumDifferentTest, CountsTokensFramesAndLengths) {
  const std::vector<EmittedToken> tokens = {{3, 0}, {3, 0}, {5, 7}};
  EXPECT_EQ(NumDifferent(tokens, tokens), 0U);
  EXPECT_EQ(NumDifferent({}, tokens), 3U);
  EXPECT_EQ(NumDifferent(tokens, {{3, 0}, {4, 0}, {5, 7}}), 1U);
  EXPECT_EQ(NumDifferent(tokens, {{3, 0}, {3, 1}, {5, 8}}), 2U);
  EXPECT_EQ(NumDifferent(tokens, {{3, 0}, {3, 0}, {5, 7}, {5, 7}}), 1U);
}

}  // namespace
}  // namespace runnel
