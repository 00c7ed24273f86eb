#include "encoder/cpu/kernels/matmul/error_feedback.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "encoder/cpu/kernels/matmul/packed_linear.h"
#include "encoder/cpu/kernels/matmul/packed_matrix.h"
#include "tests/support/random_values.h"

namespace runnel::kernels {
namespace {

// Rows whose values go together, as those of a model do.
std::vector<float> CorrelatedRows(int64_t num_rows, int64_t dim) {
  const std::vector<float> causes = testing::RandomValues(num_rows * 4, 11);
  const std::vector<float> mixture = testing::RandomValues(4 * dim, 12);
  std::vector<float> rows = testing::RandomValues(num_rows * dim, 13);
  for (int64_t r = 0; r < num_rows; ++r) {
    for (int64_t i = 0; i < dim; ++i) {
      float& value = rows[static_cast<size_t>(r * dim + i)];
      value *= 0.2f;
      for (int64_t c = 0; c < 4; ++c) {
        value += causes[static_cast<size_t>(r * 4 + c)] * mixture[static_cast<size_t>(c * dim + i)];
      }
    }
  }
  return rows;
}

// The mean square of the output's change on the rows.
double OutputError(const std::vector<float>& rows, const std::vector<float>& weight,
                   const std::vector<float>& rounded, LinearShape shape) {
  double sum = 0;
  const auto num_rows = static_cast<int64_t>(rows.size()) / shape.input_dim;
  for (int64_t r = 0; r < num_rows; ++r) {
    for (int64_t n = 0; n < shape.output_dim; ++n) {
      double change = 0;
      for (int64_t k = 0; k < shape.input_dim; ++k) {
        const auto place = static_cast<size_t>(n * shape.input_dim + k);
        change += static_cast<double>(rows[static_cast<size_t>(r * shape.input_dim + k)]) *
                  (static_cast<double>(rounded[place]) - weight[place]);
      }
      sum += change * change;
    }
  }
  return sum / static_cast<double>(num_rows * shape.output_dim);
}

// With one later weight, the best it can do is known: the least square of e x_0 + d x_1.
TEST(ErrorFeedbackTest, TwoInputsAreTheFormula) {
  InputMoments moments(2);
  const std::vector<float> rows = {1.0f, 2.0f, 3.0f, 1.0f, -1.0f, 0.5f};
  moments.Add(rows.data(), 3);
  EXPECT_EQ(moments.at(0, 0), 11.0);
  EXPECT_EQ(moments.at(0, 1), 4.5);
  EXPECT_EQ(moments.at(1, 0), 4.5);
  EXPECT_EQ(moments.at(1, 1), 5.25);
  const double damping = (11.0 + 5.25) / 2;
  const ErrorFeedback feedback(moments);
  std::vector<float> weights = {10.0f, 20.0f};
  feedback.Spread(0, 0.5f, weights.data());
  EXPECT_EQ(weights[0], 10.0f);
  EXPECT_NEAR(weights[1], 20.0 + 0.5 * 4.5 / (5.25 + damping), 1e-5);
  feedback.Spread(1, 0.5f, weights.data());
  EXPECT_NEAR(weights[1], 20.0 + 0.5 * 4.5 / (5.25 + damping), 1e-5);
}

TEST(ErrorFeedbackTest, InputsThatDoNotGoTogetherGiveNothing) {
  InputMoments moments(3);
  const std::vector<float> rows = {1, 0, 0, 0, 2, 0, 0, 0, 3};
  moments.Add(rows.data(), 3);
  const ErrorFeedback feedback(moments);
  std::vector<float> weights = {1.0f, 2.0f, 3.0f};
  for (int64_t i = 0; i < 3; ++i) feedback.Spread(i, 1.0f, weights.data());
  EXPECT_EQ(weights, (std::vector<float>{1.0f, 2.0f, 3.0f}));
}

// Of a matmul that was never called.
TEST(ErrorFeedbackTest, MomentsMayBeZero) {
  const ErrorFeedback feedback((InputMoments(40)));
  std::vector<float> weights(40, 1.0f);
  for (int64_t i = 0; i < 40; ++i) feedback.Spread(i, 1.0f, weights.data());
  EXPECT_EQ(weights, std::vector<float>(40, 1.0f));
}

TEST(ErrorFeedbackTest, WeightsOfFourBitsChangeTheOutputLess) {
  for (const LinearShape shape : {LinearShape{64, 40}, LinearShape{100, 33}, LinearShape{20, 3}}) {
    const std::vector<float> rows = CorrelatedRows(400, shape.input_dim);
    std::vector<float> weight = testing::RandomValues(shape.input_dim * shape.output_dim, 14);
    InputMoments moments(shape.input_dim);
    moments.Add(rows.data(), 200);
    moments.Add(rows.data() + 200 * shape.input_dim, 200);
    const ErrorFeedback feedback(moments);
    const auto rounded = [&](const ErrorFeedback* with) {
      const PackedLinear linear(weight.data(), nullptr, shape, MatmulType::kInt8,
                                MatmulOutput::kStore, std::nullopt, WeightFormat::kFourBits, with);
      return UnpackMatrix(linear.Stored(), MatmulType::kInt8);
    };
    EXPECT_LT(OutputError(rows, weight, rounded(&feedback), shape),
              0.8 * OutputError(rows, weight, rounded(nullptr), shape))
        << shape.input_dim;
    // Outputs without weights, and one that is all extremes.
    std::fill(weight.begin(), weight.begin() + shape.input_dim, 0.0f);
    for (int64_t k = 0; k < shape.input_dim; ++k) {
      weight[static_cast<size_t>(shape.input_dim + k)] = k % 2 == 0 ? 1.0f : -1.0f;
    }
    const float largest = std::abs(*std::max_element(
        weight.begin(), weight.end(), [](float a, float b) { return std::abs(a) < std::abs(b); }));
    for (const float value : rounded(&feedback)) EXPECT_LE(std::abs(value), 1.01f * largest);
  }
}

}  // namespace
}  // namespace runnel::kernels
