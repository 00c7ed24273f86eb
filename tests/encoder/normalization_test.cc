// Statistics that follow the stream, against sums over all frames received.
#include "encoder/normalization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "encoder/rows.h"
#include "tests/support/matrices.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/worst_of.h"

namespace runnel {
namespace {

using testing::MatrixOf;
using testing::RandomFeatures;
using testing::RelativeError;
using testing::ValueAt;

constexpr double kTolerance = 1e-12;  // sums in another order, float64

FeatureNormalizer MakeNormalizer(const EncoderConfig& config) {
  Weights none({}, DataType::kFloat64, "no weights");
  return FeatureNormalizer(config, &none);
}

// In float64.
Matrix Normalize(const FeatureNormalizer& normalizer, const float* frames, int64_t num_frames,
                 FeatureStatistics* statistics) {
  Matrix rows(DataType::kFloat64, testing::SmallConfig().input_dim, num_frames);
  normalizer.Normalize(frames, statistics, rows.rows());
  return rows;
}

// Standard normal, times `scale`, plus `shift`.
Matrix ShiftedFeatures(const EncoderConfig& config, int64_t num_frames, uint64_t seed, double scale,
                       double shift) {
  const Matrix features = RandomFeatures(config, num_frames, seed);
  return MatrixOf(DataType::kFloat32, num_frames, features.dim(), [&](int64_t row, int64_t bin) {
    return scale * static_cast<double>(features.rows().float32(row)[bin]) + shift;
  });
}

struct Moments {
  double mean;
  double deviation;  // of a sample; 0 for a single frame
};

Moments MomentsOf(ConstRows rows, int64_t bin) {
  double sum = 0;
  for (int64_t row = 0; row < rows.count; ++row) sum += ValueAt(rows, row * rows.dim + bin);
  const double mean = sum / static_cast<double>(rows.count);
  double squares = 0;
  for (int64_t row = 0; row < rows.count; ++row) {
    squares += std::pow(ValueAt(rows, row * rows.dim + bin) - mean, 2);
  }
  const auto others = static_cast<double>(std::max<int64_t>(1, rows.count - 1));
  return {mean, std::sqrt(squares / others)};
}

double LargestMagnitude(const Matrix& matrix) {
  double largest = 0;
  for (int64_t i = 0; i < matrix.count() * matrix.dim(); ++i) {
    largest = testing::WorstOf(largest, std::abs(ValueAt(matrix.rows(), i)));
  }
  return largest;
}

EncoderConfig Config(Normalization normalization) {
  EncoderConfig config = testing::SmallConfig();
  config.normalization = normalization;
  config.normalization_epsilon = 1e-3;
  return config;
}

TEST(NormalizationTest, RunningUsesAllThatWasReceived) {
  const EncoderConfig config = Config(Normalization::kRunning);
  const FeatureNormalizer normalizer = MakeNormalizer(config);
  // A large mean beside a small deviation, where sums of squares would cancel.
  const Matrix features = ShiftedFeatures(config, 300, 1, 1, 1000);
  FeatureStatistics statistics;
  int64_t received = 0;
  for (const int64_t size : {1, 2, 70, 0, 5, 222}) {
    const ConstRows chunk = features.rows().Part(received, size);
    const Matrix rows = Normalize(normalizer, chunk.float32(), size, &statistics);
    received += size;
    EXPECT_EQ(statistics.num_frames, received);
    std::vector<Moments> moments;
    for (int64_t bin = 0; bin < features.dim(); ++bin) {
      moments.push_back(MomentsOf(features.rows().Part(0, received), bin));
    }
    const Matrix expected =
        MatrixOf(DataType::kFloat64, size, features.dim(), [&](int64_t row, int64_t bin) {
          const auto [mean, deviation] = moments[static_cast<size_t>(bin)];
          return (ValueAt(chunk, row * chunk.dim + bin) - mean) /
                 (deviation + config.normalization_epsilon);
        });
    EXPECT_LE(RelativeError(rows, expected), 1e-9);
  }
}

TEST(NormalizationTest, TheMeanFrameBecomesZero) {
  for (const Normalization normalization : {Normalization::kNone, Normalization::kRunning}) {
    const EncoderConfig config = Config(normalization);
    const FeatureNormalizer normalizer = MakeNormalizer(config);
    const Matrix features = ShiftedFeatures(config, 300, 3, 2, 10);
    FeatureStatistics statistics;
    Normalize(normalizer, features.rows().float32(), 300, &statistics);
    const std::vector<float> mean = normalizer.MeanFrame(statistics, config.input_dim);
    ASSERT_EQ(mean.size(), static_cast<size_t>(config.input_dim));
    const Matrix row = Normalize(normalizer, mean.data(), 1, &statistics);
    EXPECT_LE(LargestMagnitude(row), 1e-6);  // rounding of the mean to float32
  }
  // Before any frame it is zero too.
  const FeatureNormalizer running = MakeNormalizer(Config(Normalization::kRunning));
  EXPECT_EQ(running.MeanFrame({}, 2), std::vector<float>(2));
}

TEST(NormalizationTest, UtteranceHasMeanZeroAndDeviationOne) {
  EncoderConfig config = Config(Normalization::kUtterance);
  config.normalization_epsilon = 1e-15;
  const Matrix features = ShiftedFeatures(config, 77, 2, 3, -5);
  FeatureStatistics statistics;
  const Matrix rows = Normalize(MakeNormalizer(config), features.rows().float32(), 77, &statistics);
  for (int64_t bin = 0; bin < config.input_dim; ++bin) {
    const auto [mean, deviation] = MomentsOf(rows.rows(), bin);
    EXPECT_LE(std::abs(mean), kTolerance);
    EXPECT_LE(std::abs(deviation - 1), kTolerance);
  }
}

TEST(NormalizationTest, BiasedDeviationsAndMeansAlone) {
  EncoderConfig config = Config(Normalization::kUtterance);
  constexpr int64_t kFrames = 50;
  const Matrix features = ShiftedFeatures(config, kFrames, 2, 3, -5);
  config.deviation = FeatureDeviation::kNone;
  FeatureStatistics statistics;
  const Matrix centred =
      Normalize(MakeNormalizer(config), features.rows().float32(), kFrames, &statistics);
  config.deviation = FeatureDeviation::kBiased;
  // The smallest deviation: some bins have a larger one, others do not.
  config.normalization_epsilon = MomentsOf(features.rows(), 0).deviation;
  FeatureStatistics again;
  const Matrix rows = Normalize(MakeNormalizer(config), features.rows().float32(), kFrames, &again);
  const auto expected = [&](bool is_divided) {
    return MatrixOf(DataType::kFloat64, kFrames, features.dim(), [&](int64_t row, int64_t bin) {
      const auto [mean, deviation] = MomentsOf(features.rows(), bin);
      const double biased = deviation * std::sqrt((kFrames - 1.0) / kFrames);
      return (ValueAt(features.rows(), row * features.dim() + bin) - mean) /
             (is_divided ? std::max(biased, config.normalization_epsilon) : 1.0);
    });
  };
  EXPECT_LE(RelativeError(centred, expected(false)), 1e-9);
  EXPECT_LE(RelativeError(rows, expected(true)), 1e-9);
}

TEST(NormalizationTest, ConstantBinsStayFinite) {
  EncoderConfig config = Config(Normalization::kRunning);
  for (const FeatureDeviation deviation :
       {FeatureDeviation::kUnbiased, FeatureDeviation::kBiased, FeatureDeviation::kNone}) {
    config.deviation = deviation;
    const std::vector<float> frames(static_cast<size_t>(config.input_dim) * 4, 7.0F);
    FeatureStatistics statistics;
    const Matrix rows = Normalize(MakeNormalizer(config), frames.data(), 4, &statistics);
    EXPECT_EQ(LargestMagnitude(rows), 0.0);
  }
}

TEST(NormalizationTest, NoneChangesNothingAndKeepsNoStatistics) {
  const EncoderConfig config = Config(Normalization::kNone);
  const Matrix features = RandomFeatures(config, 5, 3);
  FeatureStatistics statistics;
  const Matrix rows = Normalize(MakeNormalizer(config), features.rows().float32(), 5, &statistics);
  EXPECT_EQ(RelativeError(rows, features), 0.0);
  EXPECT_EQ(statistics.num_frames, 0);
}

}  // namespace
}  // namespace runnel
