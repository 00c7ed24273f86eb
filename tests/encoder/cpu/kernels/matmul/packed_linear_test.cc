// Matrix multiplications with packed weights: right, and a row's bits the same whatever rows are
// beside it.
#include "encoder/cpu/kernels/matmul/packed_linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "encoder/cpu/kernels/instruction_set.h"
#include "encoder/cpu/kernels/matmul/four_bits.h"
#include "encoder/cpu/kernels/matmul/packed_matrix.h"
#include "encoder/cpu/kernels/row_kernels.h"
#include "encoder/cpu/kernels/step_threads.h"
#include "tests/support/random_values.h"
#include "tests/support/tolerances.h"
#include "tests/support/worst_of.h"

namespace runnel::kernels {
namespace {

constexpr uint64_t kSeed = 7;

double Apply(std::optional<Activation> activation, double x) {
  if (!activation) return x;
  switch (*activation) {
    case Activation::kSwish:
      return x / (1 + std::exp(-x));
    case Activation::kRelu:
      return x > 0 ? x : 0;
    case Activation::kGelu:
      return x * 0.5 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kSigmoid:
      return 1 / (1 + std::exp(-x));
    case Activation::kDoubleSwish:
      return x / (1 + std::exp(1 - x));
    case Activation::kIdentity:
      return x;
  }
  return 0;
}

struct Case {
  MatmulType precision;
  double tolerance;  // of values near sqrt(input_dim) at most
  WeightFormat format = WeightFormat::kValues;
};

class PackedLinearTest : public ::testing::TestWithParam<Case> {
 protected:
  // Rows of fewer levels have larger errors.
  static double Tolerance() {
    const double levels =
        GetParam().precision == MatmulType::kInt8 ? UsedInstructionSet().quantized_steps : 255;
    return GetParam().tolerance * 255 / levels;
  }

  // x W^T + b in the result's own form; y: what it is added to.
  static std::vector<float> Run(const PackedLinear& linear, const std::vector<float>& x,
                                int64_t rows, MatmulOutput result, std::vector<float> y) {
    Scratch scratch;
    const MatmulInput input =
        MatmulInput::Take(&scratch, GetParam().precision, rows, linear.shape().input_dim);
    StoreRows(x.data(), rows, input);
    y.resize(static_cast<size_t>(rows * linear.shape().output_dim));
    if (result != MatmulOutput::kInput) {
      linear.Forward(input, rows, y.data());
      return y;
    }
    const int64_t dim = linear.shape().output_dim;
    const MatmulInput output = MatmulInput::Take(&scratch, GetParam().precision, rows, dim);
    linear.Forward(input, rows, output);
    for (int64_t r = 0; r < rows; ++r) {
      float* row = y.data() + r * dim;
      if (output.type == MatmulType::kFloat32) {
        std::memcpy(row, output.float_row(r), static_cast<size_t>(dim) * sizeof(float));
      } else if (output.type == MatmulType::kBfloat16) {
        WidenBfloat16(output.bfloat16_row(r), dim, row);
      } else {
        for (int64_t n = 0; n < dim; ++n) {
          row[n] = static_cast<float>(output.quantized_row(r)[n] - output.zero_points[r]) *
                   output.scales[r];
        }
      }
    }
    return y;
  }
};

INSTANTIATE_TEST_SUITE_P(
    Precisions, PackedLinearTest,
    ::testing::Values(Case{MatmulType::kFloat32, runnel::testing::kFloat32MatmulTolerance},
                      Case{MatmulType::kBfloat16, runnel::testing::kBfloat16MatmulTolerance},
                      Case{MatmulType::kInt8, runnel::testing::kInt8MatmulTolerance},
                      Case{MatmulType::kInt8, runnel::testing::kInt8MatmulTolerance,
                           WeightFormat::kFourBits}),
    [](const auto& one) {
      return "Precision" + std::to_string(static_cast<int>(one.param.precision)) +
             (one.param.format == WeightFormat::kFourBits ? "FourBits" : "");
    });

TEST_P(PackedLinearTest, IsTheFormula) {
  const LinearShape shape{70, 33};
  const std::vector<float> weight =
      runnel::testing::RandomValues(shape.input_dim * shape.output_dim, kSeed);
  const std::vector<float> bias = runnel::testing::RandomValues(shape.output_dim, kSeed + 1);
  const std::vector<std::optional<Activation>> activations = {
      std::nullopt,      Activation::kSwish,   Activation::kRelu,        Activation::kGelu,
      Activation::kTanh, Activation::kSigmoid, Activation::kDoubleSwish, Activation::kIdentity};
  for (const MatmulOutput result :
       {MatmulOutput::kStore, MatmulOutput::kAdd, MatmulOutput::kInput}) {
    for (const std::optional<Activation>& activation : activations) {
      if (result == MatmulOutput::kAdd && activation) continue;
      for (const bool with_bias : {true, false}) {
        const PackedLinear linear(weight.data(), with_bias ? bias.data() : nullptr, shape,
                                  GetParam().precision, result, activation, GetParam().format);
        const std::vector<float> packed = UnpackMatrix(linear.Stored(), GetParam().precision);
        for (const int64_t rows : {1, 16, 21, 300}) {
          const std::vector<float> x =
              runnel::testing::RandomValues(rows * shape.input_dim, kSeed + 2);
          const std::vector<float> before =
              runnel::testing::RandomValues(rows * shape.output_dim, kSeed + 3);
          const std::vector<float> y = Run(linear, x, rows, result, before);
          double worst = 0;
          for (int64_t r = 0; r < rows; ++r) {
            for (int64_t n = 0; n < shape.output_dim; ++n) {
              double sum = with_bias ? bias[static_cast<size_t>(n)] : 0;
              for (int64_t k = 0; k < shape.input_dim; ++k) {
                sum += static_cast<double>(x[static_cast<size_t>(r * shape.input_dim + k)]) *
                       packed[static_cast<size_t>(n * shape.input_dim + k)];
              }
              const auto place = static_cast<size_t>(r * shape.output_dim + n);
              const double expected =
                  Apply(activation, sum) + (result == MatmulOutput::kAdd ? before[place] : 0.0);
              worst = runnel::testing::WorstOf(worst, std::abs(expected - y[place]));
            }
          }
          EXPECT_LE(worst, Tolerance()) << rows << " rows";
        }
      }
    }
  }
}

TEST_P(PackedLinearTest, RowsDoNotDependOnOtherRows) {
  // Sizes of real layers, and some that no vector divides.
  for (const LinearShape shape :
       {LinearShape{256, 2048}, LinearShape{2048, 256}, LinearShape{96, 288}, LinearShape{513, 77},
        LinearShape{18, 29}}) {
    const std::vector<float> weight =
        runnel::testing::RandomValues(shape.input_dim * shape.output_dim, kSeed);
    constexpr int64_t kRows = 300;
    const std::vector<float> x = runnel::testing::RandomValues(kRows * shape.input_dim, kSeed + 2);
    for (const MatmulOutput result :
         {MatmulOutput::kStore, MatmulOutput::kAdd, MatmulOutput::kInput}) {
      const PackedLinear linear(
          weight.data(), x.data(), shape, GetParam().precision, result,
          result == MatmulOutput::kInput ? std::make_optional(Activation::kSwish) : std::nullopt,
          GetParam().format);
      const std::vector<float> all = Run(linear, x, kRows, result, {});
      for (const int64_t rows : {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,  13,  14,
                                 15, 16, 17, 20, 28, 31, 32, 42, 47, 64, 95, 112, 129, 255}) {
        for (const int64_t first : {int64_t{0}, int64_t{1}, int64_t{13}, kRows - rows}) {
          const auto begin = x.begin() + static_cast<ptrdiff_t>(first * shape.input_dim);
          const std::vector<float> some =
              Run(linear, {begin, begin + static_cast<ptrdiff_t>(rows * shape.input_dim)}, rows,
                  result, {});
          EXPECT_EQ(std::memcmp(some.data(), all.data() + first * shape.output_dim,
                                some.size() * sizeof(float)),
                    0)
              << shape.input_dim << " to " << shape.output_dim << ", rows " << first << " to "
              << first + rows;
        }
      }
    }
  }
}

TEST_P(PackedLinearTest, ThreadsOfAStepChangeNothing) {
  for (const LinearShape shape : {LinearShape{256, 2048}, LinearShape{2048, 250}}) {
    const std::vector<float> weight =
        runnel::testing::RandomValues(shape.input_dim * shape.output_dim, kSeed);
    const std::vector<float> bias = runnel::testing::RandomValues(shape.output_dim, kSeed + 1);
    for (const int64_t rows : {3, 16, 150}) {
      const std::vector<float> x = runnel::testing::RandomValues(rows * shape.input_dim, kSeed + 2);
      for (const MatmulOutput result :
           {MatmulOutput::kStore, MatmulOutput::kAdd, MatmulOutput::kInput}) {
        const PackedLinear linear(weight.data(), bias.data(), shape, GetParam().precision, result,
                                  std::nullopt, GetParam().format);
        const std::vector<float> alone = Run(linear, x, rows, result, {});
        for (const int num_threads : {2, 3, 5}) {
          StepTeams teams(num_threads);
          const StepThreads threads(&teams);
          EXPECT_EQ(Run(linear, x, rows, result, {}), alone) << rows << " rows, " << num_threads;
        }
      }
    }
  }
}

// Root of the mean square of the difference to the weights, divided by that of the weights.
double PackingError(MatmulType type, WeightFormat format) {
  const LinearShape shape{200, 70};
  const std::vector<float> weight =
      runnel::testing::RandomValues(shape.input_dim * shape.output_dim, kSeed);
  const PackedLinear linear(weight.data(), nullptr, shape, type, MatmulOutput::kStore, std::nullopt,
                            format);
  const std::vector<float> packed = UnpackMatrix(linear.Stored(), type);
  double error = 0, all = 0;
  for (size_t i = 0; i < weight.size(); ++i) {
    error += std::pow(static_cast<double>(packed.at(i)) - weight[i], 2);
    all += std::pow(static_cast<double>(weight[i]), 2);
  }
  return std::sqrt(error / all);
}

TEST(PackedWeightsTest, AreAsNearAsTheirBits) {
  EXPECT_EQ(PackingError(MatmulType::kFloat32, WeightFormat::kValues), 0.0);
  EXPECT_LT(PackingError(MatmulType::kBfloat16, WeightFormat::kValues), 0.003);
  EXPECT_LT(PackingError(MatmulType::kInt8, WeightFormat::kValues), 0.01);
  EXPECT_LT(PackingError(MatmulType::kInt8, WeightFormat::kFourBits), 0.1);
  EXPECT_GT(PackingError(MatmulType::kInt8, WeightFormat::kFourBits), 0.02);
}

// AMX multiplies an expanded panel.
TEST(PackedWeightsTest, AnExpandedPanelHasTheSameWeights) {
  constexpr int64_t kBlocks = 3, kInputs = kBlocks * kFourBitInputs;
  std::vector<FourBitGroup> groups(static_cast<size_t>(kPanelOutputs * kBlocks));
  for (size_t i = 0; i < groups.size(); ++i) {
    groups[i].scale = static_cast<int8_t>(i % 18);
    groups[i].minimum = static_cast<int8_t>(-127 + static_cast<int>(i * 7 % 128));
    for (int64_t k = 0; k < kFourBitInputs; ++k) {
      const int most = groups[i].scale == 0 ? 15 : (127 - groups[i].minimum) / groups[i].scale;
      groups[i].values[k] = static_cast<uint8_t>(std::min<int>(15, most) * (k % 16) / 15);
    }
  }
  std::vector<uint8_t> panel(static_cast<size_t>(kBlocks * kFourBitBlockBytes));
  StoreFourBitPanel(groups.data(), kBlocks, panel.data());
  EXPECT_TRUE(HasFourBitScales(panel.data(), kBlocks));
  std::vector<uint8_t> expanded(static_cast<size_t>(kPanelOutputs * kInputs));
  ExpandFourBitPanel(panel.data(), kBlocks, expanded.data());
  for (int64_t n = 0; n < kPanelOutputs; ++n) {
    for (int64_t k = 0; k < kInputs; ++k) {
      const auto place = static_cast<size_t>((k / 4 * kPanelOutputs + n) * 4 + k % 4);
      const FourBitGroup& group = groups[static_cast<size_t>(n * kBlocks + k / kFourBitInputs)];
      ASSERT_EQ(static_cast<int8_t>(expanded[place]), group.Weight(k % kFourBitInputs));
      ASSERT_EQ(static_cast<int8_t>(expanded[place]), FourBitWeight(panel.data(), n, k));
    }
  }
  panel[static_cast<size_t>(kFourBitBlockBytes)] = 18;
  EXPECT_FALSE(HasFourBitScales(panel.data(), kBlocks));
}

// Whatever the weights are, a matmul with four bits is one with these int8 weights: the sums of an
// int8 matmul are exact, so the bits are the same.
TEST(PackedWeightsTest, FourBitsAreInt8Weights) {
  const LinearShape shape{320, 45};
  std::vector<float> weight =
      runnel::testing::RandomValues(shape.input_dim * shape.output_dim, kSeed);
  for (size_t i = 0; i < weight.size(); i += 37) weight[i] *= 10;                       // outliers
  std::fill(weight.begin() + 320, weight.begin() + 640, 0.0f);                          // an output
  for (size_t i = 640; i < 960; ++i) weight[i] = i % 32 == 0 ? -3.0f : 3.0f;            // extremes
  for (size_t i = 960; i < 1280; ++i) weight[i] = static_cast<float>(i - 960) * 1e-3f;  // a slope
  const PackedLinear four(weight.data(), nullptr, shape, MatmulType::kInt8, MatmulOutput::kStore,
                          std::nullopt, WeightFormat::kFourBits);
  const StoredMatrix stored = four.Stored();
  const std::vector<float> unpacked = UnpackMatrix(stored, MatmulType::kInt8);
  std::vector<float> scales(static_cast<size_t>(shape.output_dim));
  std::memcpy(scales.data(), stored.scales.data(), stored.scales.size());
  constexpr int64_t kRows = 33;
  Scratch scratch;
  const MatmulInput x = MatmulInput::Take(&scratch, MatmulType::kInt8, kRows, shape.input_dim);
  const std::vector<float> values =
      runnel::testing::RandomValues(kRows * shape.input_dim, kSeed + 2);
  StoreRows(values.data(), kRows, x);
  std::vector<float> y(static_cast<size_t>(kRows * shape.output_dim));
  four.Forward(x, kRows, y.data());
  for (int64_t r = 0; r < kRows; ++r) {
    for (int64_t n = 0; n < shape.output_dim; ++n) {
      const float scale = scales[static_cast<size_t>(n)];
      int64_t sum = 0;
      for (int64_t k = 0; k < shape.input_dim; ++k) {
        const auto weight8 = static_cast<int64_t>(
            std::nearbyint(unpacked[static_cast<size_t>(n * shape.input_dim + k)] / scale));
        ASSERT_LE(std::abs(weight8), 127);
        sum += weight8 * (x.quantized_row(r)[k] - x.zero_points[r]);
      }
      ASSERT_EQ(y[static_cast<size_t>(r * shape.output_dim + n)],
                static_cast<float>(sum) * (x.scales[r] * scale))
          << r << ", " << n;
    }
  }
}

TEST(PackedLinearLimitsTest, SumsThatCouldLeaveInt32AreRefused) {
  const std::vector<float> weight(65537, 0.5f);
  EXPECT_THROW(
      PackedLinear(weight.data(), nullptr, {65537, 1}, MatmulType::kInt8, MatmulOutput::kStore),
      std::runtime_error);
  EXPECT_NO_THROW(
      PackedLinear(weight.data(), nullptr, {65537, 1}, MatmulType::kFloat32, MatmulOutput::kStore));
}

}  // namespace
}  // namespace runnel::kernels
