// The operations on rows against their formulas, at every length of a row's rest.
#include "encoder/cpu/kernels/row_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "encoder/cpu/kernels/depthwise_kernel.h"
#include "tests/support/tolerances.h"

namespace runnel::kernels {
namespace {

std::vector<float> Random(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0.3f, 2.0f);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(random);
  return values;
}

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// What a row of a matrix multiplication's input stands for.
std::vector<float> Decoded(const MatmulInput& input, int64_t row) {
  std::vector<float> values(static_cast<size_t>(input.dim));
  switch (input.type) {
    case MatmulType::kFloat32:
      std::copy(input.float_row(row), input.float_row(row) + input.dim, values.begin());
      break;
    case MatmulType::kBfloat16:
      WidenBfloat16(input.bfloat16_row(row), input.dim, values.data());
      break;
    case MatmulType::kInt8:
      for (int64_t i = 0; i < input.dim; ++i) {
        values[static_cast<size_t>(i)] =
            static_cast<float>(input.quantized_row(row)[i] - input.zero_points[row]) *
            input.scales[row];
      }
  }
  return values;
}

constexpr int64_t kDims[] = {1, 7, 15, 16, 17, 31, 33, 64, 77, 128, 130};

TEST(RowKernelsTest, LayerNorm) {
  for (const int64_t dim : kDims) {
    const std::vector<float> x = Random(3 * dim, 1), weight = Random(dim, 2), bias = Random(dim, 3);
    std::vector<float> y(x.size());
    LayerNorm(x.data(), 3, dim, {weight.data(), bias.data(), 1e-5f}, y.data());
    for (int64_t r = 0; r < 3; ++r) {
      double mean = 0, variance = 0;
      const float* row = x.data() + r * dim;
      for (int64_t i = 0; i < dim; ++i) mean += row[i] / static_cast<double>(dim);
      for (int64_t i = 0; i < dim; ++i) {
        variance += (row[i] - mean) * (row[i] - mean) / static_cast<double>(dim);
      }
      for (int64_t i = 0; i < dim; ++i) {
        const double expected =
            (row[i] - mean) / std::sqrt(variance + 1e-5) * weight[static_cast<size_t>(i)] +
            bias[static_cast<size_t>(i)];
        EXPECT_NEAR(y[static_cast<size_t>(r * dim + i)], expected,
                    runnel::testing::kLayerNormTolerance)
            << "dim " << dim;
      }
    }
  }
}

TEST(RowKernelsTest, LayerNormOfSecondHalfReadsThatHalf) {
  for (const int64_t dim : kDims) {
    const std::vector<float> x = Random(2 * 3 * dim, 1), weight = Random(dim, 2),
                             bias = Random(dim, 3);
    const NormWeights norm{weight.data(), bias.data(), 1e-5f};
    std::vector<float> halves, expected(static_cast<size_t>(3 * dim)), y(expected.size());
    for (int64_t r = 0; r < 3; ++r) {
      halves.insert(halves.end(), x.begin() + (2 * r + 1) * dim, x.begin() + (2 * r + 2) * dim);
    }
    LayerNorm(halves.data(), 3, dim, norm, expected.data());
    LayerNormOfSecondHalf(x.data(), 3, dim, norm, y.data());
    EXPECT_EQ(y, expected) << "dim " << dim;
  }
}

TEST(RowKernelsTest, MultiplyByGates) {
  for (const int64_t dim : kDims) {
    const std::vector<float> x = Random(2 * 3 * dim, 4), gates = Random(3 * dim, 5);
    for (const Activation activation : {Activation::kIdentity, Activation::kTanh}) {
      Scratch scratch;
      const MatmulInput y = MatmulInput::Take(&scratch, MatmulType::kFloat32, 3, dim);
      MultiplyByGates(x.data(), gates.data(), 3, activation, y);
      for (int64_t r = 0; r < 3; ++r) {
        for (int64_t i = 0; i < dim; ++i) {
          const double value = x[static_cast<size_t>(2 * r * dim + i)];
          const double gate = gates[static_cast<size_t>(r * dim + i)];
          const double expected =
              value * (activation == Activation::kTanh ? std::tanh(gate) : gate);
          EXPECT_NEAR(y.float_row(r)[i], expected,
                      runnel::testing::kElementwiseTolerance * (1 + std::abs(value)));
        }
      }
    }
  }
}

TEST(RowKernelsTest, BasicNorm) {
  for (const int64_t dim : kDims) {
    std::vector<float> x = Random(3 * dim, 1);
    std::fill(x.begin(), x.begin() + dim, 0.0f);  // a row of zeros stays one
    std::vector<float> y(x.size());
    constexpr float kEpsilon = 0.25f;
    BasicNorm(x.data(), 3, dim, kEpsilon, y.data());
    for (int64_t r = 0; r < 3; ++r) {
      double mean = 0;
      const float* row = x.data() + r * dim;
      for (int64_t i = 0; i < dim; ++i) {
        mean += static_cast<double>(row[i]) * row[i] / static_cast<double>(dim);
      }
      for (int64_t i = 0; i < dim; ++i) {
        EXPECT_NEAR(y[static_cast<size_t>(r * dim + i)], row[i] / std::sqrt(mean + kEpsilon),
                    runnel::testing::kLayerNormTolerance)
            << "dim " << dim;
      }
    }
    BasicNorm(x.data(), 3, dim, kEpsilon, x.data());  // in place
    EXPECT_EQ(x, y);
  }
}

TEST(RowKernelsTest, GluAndLogSoftmax) {
  for (const int64_t dim : kDims) {
    std::vector<float> x = Random(2 * 2 * dim, 4);
    x[0] = 200.0f;  // beyond what exp can take
    x[static_cast<size_t>(dim)] = -200.0f;
    std::vector<float> y(static_cast<size_t>(2 * dim));
    Glu(x.data(), 2, dim, y.data());
    for (int64_t r = 0; r < 2; ++r) {
      for (int64_t i = 0; i < dim; ++i) {
        const double value = x[static_cast<size_t>(r * 2 * dim + i)];
        const double gate = x[static_cast<size_t>(r * 2 * dim + dim + i)];
        EXPECT_NEAR(y[static_cast<size_t>(r * dim + i)], value * Sigmoid(gate),
                    runnel::testing::kElementwiseTolerance * (1 + std::abs(value)));
      }
    }
    std::vector<float> probs = x;
    LogSoftmax(2, 2 * dim, probs.data());
    for (int64_t r = 0; r < 2; ++r) {
      double sum = 0;
      const float* row = x.data() + r * 2 * dim;
      const double high = *std::max_element(row, row + 2 * dim);
      for (int64_t i = 0; i < 2 * dim; ++i) sum += std::exp(row[i] - high);
      for (int64_t i = 0; i < 2 * dim; ++i) {
        const double expected = row[i] - high - std::log(sum);
        EXPECT_NEAR(probs[static_cast<size_t>(r * 2 * dim + i)], expected,
                    runnel::testing::kElementwiseTolerance * (1 + std::abs(expected)));
      }
    }
  }
}

TEST(RowKernelsTest, IndexOfMaximum) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const int64_t dim : kDims) {
    std::vector<float> x = Random(dim, 6);
    const auto first = [&] { return std::max_element(x.begin(), x.end()) - x.begin(); };
    EXPECT_EQ(IndexOfMaximum(x.data(), dim), first()) << "dim " << dim;
    for (int64_t i = dim - 1; i >= 0; --i) {  // ends with all values equal
      x[static_cast<size_t>(i)] = 100.0f;
      EXPECT_EQ(IndexOfMaximum(x.data(), dim), i) << "dim " << dim;
    }
    for (const float bad : {kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
      for (const int64_t i : {int64_t{0}, dim / 2, dim - 1}) {
        std::vector<float> y = x;
        y[static_cast<size_t>(i)] = bad;
        EXPECT_EQ(IndexOfMaximum(y.data(), dim), -1) << "dim " << dim << ", value " << i;
      }
    }
    x.assign(x.size(), -kInfinity);
    EXPECT_EQ(IndexOfMaximum(x.data(), dim), 0) << "dim " << dim;
  }
}

TEST(RowKernelsTest, StoreRowsKeepsHalfAStep) {
  for (const int64_t dim : kDims) {
    std::vector<float> x = Random(3 * dim, 5);
    std::fill(x.begin(), x.begin() + dim, 0.0f);                                 // all zeros
    for (int64_t i = dim; i < 2 * dim; ++i) x[static_cast<size_t>(i)] *= -1e3f;  // large
    for (const MatmulType precision :
         {MatmulType::kFloat32, MatmulType::kBfloat16, MatmulType::kInt8}) {
      Scratch scratch;
      const MatmulInput y = MatmulInput::Take(&scratch, precision, 3, dim);
      StoreRows(x.data(), 3, y);
      for (int64_t r = 0; r < 3; ++r) {
        const std::vector<float> decoded = Decoded(y, r);
        for (int64_t i = 0; i < dim; ++i) {
          const double value = x[static_cast<size_t>(r * dim + i)];
          double step = 0;
          if (precision == MatmulType::kBfloat16) step = std::abs(value) / 128;
          // Zero itself is exact, so the range's ends may be half a step off.
          if (precision == MatmulType::kInt8) step = y.scales[r] * 1.001;
          EXPECT_NEAR(decoded[static_cast<size_t>(i)], value, step / 2 + 1e-12);
          if (value == 0) {
            EXPECT_EQ(decoded[static_cast<size_t>(i)], 0);
          }
        }
      }
    }
  }
}

TEST(RowKernelsTest, WhatIsNoNumberStaysNone) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> x = Random(40, 6);
    x[17] = bad;
    const std::vector<float> ones(40, 1.0f);
    std::vector<float> y(40);
    LayerNorm(x.data(), 1, 40, {ones.data(), ones.data(), 1e-5f}, y.data());
    EXPECT_TRUE(std::all_of(y.begin(), y.end(), [](float v) { return !std::isfinite(v); }));
    for (const int64_t place : {0, 17, 63}) {  // in rows of four vectors or more
      std::vector<float> row = Random(64, 7);
      row[static_cast<size_t>(place)] = bad;
      Scratch scratch;
      const MatmulInput input = MatmulInput::Take(&scratch, MatmulType::kInt8, 1, 64);
      StoreRows(row.data(), 1, input);
      for (const float value : Decoded(input, 0)) EXPECT_TRUE(std::isnan(value));
      std::vector<float> gated(32);
      Glu(row.data(), 1, 32, gated.data());
      if (std::isnan(bad)) {
        EXPECT_TRUE(std::isnan(gated[static_cast<size_t>(place % 32)])) << place;
      }
      const float* frame = row.data();
      const std::vector<float> taps(64, 1.0f);
      const MatmulInput filtered = MatmulInput::Take(&scratch, MatmulType::kFloat32, 1, 64);
      DepthwiseConvolution(&frame, 1, 1,
                           {taps.data(), taps.data(), 1, std::nullopt, Activation::kRelu}, filtered,
                           0);
      EXPECT_FALSE(std::isfinite(filtered.float_row(0)[place]));
    }
    LogSoftmax(1, 40, x.data());
    EXPECT_TRUE(std::any_of(x.begin(), x.end(), [](float v) { return std::isnan(v); }));
  }
}

TEST(RowKernelsTest, Bfloat16RoundsToTheNearestEven) {
  const auto float_of = [](uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  };
  const std::vector<float> x = {float_of(0x3F808000), float_of(0x3F818000), float_of(0x3F808001),
                                float_of(0xBF807FFF)};
  std::vector<uint16_t> y(x.size());
  RoundToBfloat16(x.data(), static_cast<int64_t>(x.size()), y.data());
  EXPECT_EQ(y, (std::vector<uint16_t>{0x3F80, 0x3F82, 0x3F81, 0xBF80}));
}

TEST(DepthwiseKernelTest, IsTheFormula) {
  for (const int64_t dim : kDims) {
    for (const bool with_norm : {false, true}) {
      constexpr int64_t kFrames = 9, kTaps = 5, kOutputs = 7;  // the last two outputs lack taps
      const std::vector<float> x = Random(kFrames * dim, 1), taps = Random(kTaps * dim, 2);
      const std::vector<float> bias = Random(dim, 3), weight = Random(dim, 4);
      std::vector<const float*> frames;
      for (int64_t i = 0; i < kFrames; ++i) frames.push_back(x.data() + i * dim);
      Scratch scratch;
      const MatmulInput y = MatmulInput::Take(&scratch, MatmulType::kFloat32, kOutputs + 1, dim);
      std::optional<NormWeights> norm;
      if (with_norm) norm = NormWeights{weight.data(), bias.data(), 1e-5f};
      DepthwiseConvolution(frames.data(), kFrames, kOutputs,
                           {taps.data(), bias.data(), kTaps, norm, Activation::kSwish}, y, 1);
      for (int64_t t = 0; t < kOutputs; ++t) {
        std::vector<float> sums(static_cast<size_t>(dim));
        for (int64_t c = 0; c < dim; ++c) {
          double sum = bias[static_cast<size_t>(c)];
          for (int64_t tap = 0; tap < std::min(kTaps, kFrames - t); ++tap) {
            sum += static_cast<double>(frames[static_cast<size_t>(t + tap)][c]) *
                   taps[static_cast<size_t>(tap * dim + c)];
          }
          sums[static_cast<size_t>(c)] = static_cast<float>(sum);
        }
        if (with_norm) LayerNorm(sums.data(), 1, dim, *norm, sums.data());
        for (int64_t c = 0; c < dim; ++c) {
          const double sum = sums[static_cast<size_t>(c)];
          EXPECT_NEAR(y.float_row(t + 1)[c], sum * Sigmoid(sum),
                      runnel::testing::kDepthwiseTolerance * (1 + std::abs(sum)));
        }
      }
    }
  }
}

TEST(DepthwiseKernelTest, AnOutputDoesNotDependOnThoseBesideIt) {
  constexpr int64_t kFrames = 16, kTaps = 5;  // the last outputs lack taps
  for (const int64_t dim : kDims) {
    const std::vector<float> x = Random(kFrames * dim, 1), taps = Random(kTaps * dim, 2);
    const std::vector<float> bias = Random(dim, 3);
    std::vector<const float*> frames;
    for (int64_t i = 0; i < kFrames; ++i) frames.push_back(x.data() + i * dim);
    const DepthwiseWeights weights{taps.data(), bias.data(), kTaps, std::nullopt,
                                   Activation::kSwish};
    Scratch scratch;
    const MatmulInput alone = MatmulInput::Take(&scratch, MatmulType::kFloat32, kFrames, dim);
    for (int64_t t = 0; t < kFrames; ++t) {
      DepthwiseConvolution(frames.data() + t, kFrames - t, 1, weights, alone, t);
    }
    for (const int64_t first : {0, 3}) {
      const MatmulInput y = MatmulInput::Take(&scratch, MatmulType::kFloat32, kFrames, dim);
      const int64_t count = kFrames - first;
      DepthwiseConvolution(frames.data() + first, count, count, weights, y, first);
      EXPECT_EQ(std::memcmp(y.float_row(first), alone.float_row(first),
                            static_cast<size_t>(count * dim) * sizeof(float)),
                0)
          << "dim " << dim << ", from output " << first;
    }
  }
}

}  // namespace
}  // namespace runnel::kernels
