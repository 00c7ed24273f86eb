// Sinusoids of frame numbers, and positions folded into keys.
#include "encoder/cpu/frame_positions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "encoder/cpu/kernels/attention/position_kernels.h"
#include "encoder/position/sinusoids.h"
#include "encoder/rows.h"
#include "tests/support/random_values.h"

namespace runnel::cpu {
namespace {

constexpr int64_t kDim = 36;

std::vector<float> Filled(const FrameSinusoids& sinusoids, FrameRange frames) {
  std::vector<float> rows(static_cast<size_t>((frames.end - frames.begin) * kDim));
  sinusoids.Fill(frames, 1, rows.data());
  return rows;
}

TEST(FrameSinusoidsTest, AreTheFormula) {
  const FrameSinusoids sinusoids(kDim);
  const Sinusoids formula(kDim);
  for (const int64_t first : {0, 5, 4090, 10000007}) {
    const std::vector<float> rows = Filled(sinusoids, {first, first + 40});
    const Matrix expected = formula.Rows(first, first + 39);
    double worst = 0;
    for (int64_t i = 0; i < 40; ++i) {
      for (int64_t k = 0; k < kDim; ++k) {
        const auto place = static_cast<size_t>(i * kDim + (k % 2 == 0 ? k / 2 : kDim / 2 + k / 2));
        worst = std::max(worst, std::abs(expected.rows().float64(i)[k] - rows[place]));
      }
    }
    EXPECT_LE(worst, 1e-6) << "from frame " << first;
  }
}

TEST(FrameSinusoidsTest, ARowDependsOnItsFrameOnly) {
  const FrameSinusoids sinusoids(kDim);
  const std::vector<float> all = Filled(sinusoids, {1000, 1100});
  for (int64_t frame = 1000; frame < 1100; ++frame) {
    const std::vector<float> row = Filled(sinusoids, {frame, frame + 1});
    EXPECT_EQ(std::memcmp(row.data(), all.data() + (frame - 1000) * kDim, kDim * sizeof(float)), 0)
        << "frame " << frame;
  }
}

TEST(FoldPositionsTest, IsTheFormula) {
  constexpr int64_t kHeads = 3, kHeadDim = 22, kRows = 5, kWidth = kHeads * kHeadDim;
  constexpr int64_t kStride = kWidth + 7;
  const std::vector<float> u = testing::RandomValues(kWidth, 1);
  const std::vector<float> v = testing::RandomValues(kWidth, 2);
  const std::vector<float> positions = testing::RandomValues(kRows * kWidth, 3);
  const std::vector<float> before = testing::RandomValues(kRows * kStride, 4);
  for (const bool biased : {true, false}) {
    std::vector<float> keys = before;
    std::vector<float> key_biases(kRows * kHeads);
    kernels::FoldPositions(
        {biased ? u.data() : nullptr, biased ? v.data() : nullptr, kHeads, kHeadDim},
        positions.data(), kRows, keys.data(), kStride, key_biases.data());
    for (int64_t r = 0; r < kRows; ++r) {
      for (int64_t head = 0; head < kHeads; ++head) {
        double sum = 0;
        for (int64_t i = head * kHeadDim; i < (head + 1) * kHeadDim; ++i) {
          const auto column = static_cast<size_t>(i);
          const float k = before[static_cast<size_t>(r * kStride + i)];
          const float p = positions[static_cast<size_t>(r * kWidth + i)];
          EXPECT_EQ(keys[static_cast<size_t>(r * kStride + i)], k + p);
          if (biased)
            sum += static_cast<double>(u[column]) * k + static_cast<double>(v[column]) * p;
        }
        EXPECT_NEAR(key_biases[static_cast<size_t>(r * kHeads + head)], sum, 1e-5);
      }
      for (int64_t i = kWidth; i < kStride; ++i) {  // values between the rows stay
        const auto place = static_cast<size_t>(r * kStride + i);
        EXPECT_EQ(keys[place], before[place]);
      }
    }
  }
}

}  // namespace
}  // namespace runnel::cpu
