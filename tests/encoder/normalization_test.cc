// Statistics that follow the stream, against sums over all frames received.
#include "encoder/normalization.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/std.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <vector>

#include "encoder/libtorch/tensor_rows.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"

namespace runnel {
namespace {

using testing::RandomFeatures;
using testing::RelativeError;

constexpr double kTolerance = 1e-12;  // sums in another order, float64

FeatureNormalizer MakeNormalizer(const EncoderConfig& config) {
  Weights none({}, at::kDouble, "no weights");
  return FeatureNormalizer(config, &none);
}

// In float64.
at::Tensor Normalize(const FeatureNormalizer& normalizer, const float* frames, int64_t num_frames,
                     FeatureStatistics* statistics) {
  Matrix rows(DataType::kFloat64, testing::SmallConfig().input_dim, num_frames);
  normalizer.Normalize(frames, statistics, rows.rows());
  return libtorch::View(rows.rows()).clone();
}

EncoderConfig Config(Normalization normalization) {
  EncoderConfig config = testing::SmallConfig();
  config.normalization = normalization;
  config.normalization_epsilon = 1e-3;
  return config;
}

TEST(NormalizationTest, RunningUsesAllThatWasReceived) {
  const c10::InferenceMode guard;
  const EncoderConfig config = Config(Normalization::kRunning);
  const FeatureNormalizer normalizer = MakeNormalizer(config);
  // A large mean beside a small deviation, where sums of squares would cancel.
  const at::Tensor features = RandomFeatures(config, 300, 1) + 1000;
  const at::Tensor exact = features.to(at::kDouble);
  FeatureStatistics statistics;
  int64_t received = 0;
  for (const int64_t size : {1, 2, 70, 0, 5, 222}) {
    const at::Tensor rows = Normalize(
        normalizer, features.data_ptr<float>() + received * features.size(1), size, &statistics);
    const at::Tensor chunk = exact.narrow(0, received, size);
    received += size;
    EXPECT_EQ(statistics.num_frames, received);
    if (size == 0) {
      EXPECT_EQ(rows.size(0), 0);
      continue;
    }
    const at::Tensor so_far = exact.narrow(0, 0, received);
    const at::Tensor deviation =
        received == 1 ? so_far[0] * 0 : at::std(so_far, at::IntArrayRef({0}), true);
    const at::Tensor expected =
        (chunk - so_far.mean(at::IntArrayRef({0}))) / (deviation + config.normalization_epsilon);
    EXPECT_LE(RelativeError(rows, expected), 1e-9);
  }
}

TEST(NormalizationTest, TheMeanFrameBecomesZero) {
  const c10::InferenceMode guard;
  for (const Normalization normalization : {Normalization::kNone, Normalization::kRunning}) {
    const EncoderConfig config = Config(normalization);
    const FeatureNormalizer normalizer = MakeNormalizer(config);
    const at::Tensor features = RandomFeatures(config, 300, 3) * 2 + 10;
    FeatureStatistics statistics;
    Normalize(normalizer, features.data_ptr<float>(), 300, &statistics);
    const std::vector<float> mean = normalizer.MeanFrame(statistics, config.input_dim);
    ASSERT_EQ(mean.size(), static_cast<size_t>(config.input_dim));
    const at::Tensor row = Normalize(normalizer, mean.data(), 1, &statistics);
    EXPECT_LE(row.abs().max().item<double>(), 1e-6);  // rounding of the mean to float32
  }
  // Before any frame it is zero too.
  const FeatureNormalizer running = MakeNormalizer(Config(Normalization::kRunning));
  EXPECT_EQ(running.MeanFrame({}, 2), std::vector<float>(2));
}

TEST(NormalizationTest, UtteranceHasMeanZeroAndDeviationOne) {
  const c10::InferenceMode guard;
  EncoderConfig config = Config(Normalization::kUtterance);
  config.normalization_epsilon = 1e-15;
  const at::Tensor features = RandomFeatures(config, 77, 2) * 3 - 5;
  FeatureStatistics statistics;
  const at::Tensor rows =
      Normalize(MakeNormalizer(config), features.data_ptr<float>(), 77, &statistics);
  EXPECT_LE(rows.mean(at::IntArrayRef({0})).abs().max().item<double>(), kTolerance);
  EXPECT_LE((at::std(rows, at::IntArrayRef({0}), true) - 1).abs().max().item<double>(), kTolerance);
}

TEST(NormalizationTest, ConstantBinsStayFinite) {
  const c10::InferenceMode guard;
  const EncoderConfig config = Config(Normalization::kRunning);
  const std::vector<float> frames(static_cast<size_t>(config.input_dim) * 4, 7.0F);
  FeatureStatistics statistics;
  const at::Tensor rows = Normalize(MakeNormalizer(config), frames.data(), 4, &statistics);
  EXPECT_EQ(rows.abs().max().item<double>(), 0.0);
}

TEST(NormalizationTest, NoneChangesNothingAndKeepsNoStatistics) {
  const c10::InferenceMode guard;
  const EncoderConfig config = Config(Normalization::kNone);
  const at::Tensor features = RandomFeatures(config, 5, 3);
  FeatureStatistics statistics;
  const at::Tensor rows =
      Normalize(MakeNormalizer(config), features.data_ptr<float>(), 5, &statistics);
  EXPECT_EQ(RelativeError(rows, features.to(at::kDouble)), 0.0);
  EXPECT_EQ(statistics.num_frames, 0);
}

}  // namespace
}  // namespace runnel
