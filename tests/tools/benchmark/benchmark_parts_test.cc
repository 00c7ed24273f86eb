#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tools/benchmark/durations.h"
#include "tools/benchmark/matmul_timer.h"
#include "tools/benchmark/matmuls.h"

namespace runnel {
namespace {

// The sizes of WeNet's AISHELL model.
ModelConfig AishellConfig() {
  ModelConfig config;
  config.encoder.input_dim = 80;
  config.encoder.model_dim = 256;
  config.encoder.num_layers = 12;
  config.encoder.num_heads = 4;
  config.encoder.feed_forward.hidden_dim = 2048;
  config.encoder.convolution->kernel_size = 8;
  config.encoder.position = ChunkRpe();
  config.vocabulary.vocab_size = 4233;
  return config;
}

TEST(DurationsTest, QuantilesAreExact) {
  const DurationSummary none = Summarize({});
  EXPECT_EQ(none.median_ms, 0);
  const DurationSummary one = Summarize({3});
  EXPECT_EQ(one.median_ms, 3);
  EXPECT_EQ(one.p95_ms, 3);
  EXPECT_EQ(one.min_ms, 3);
  EXPECT_EQ(Summarize({4, 1, 3, 2}).median_ms, 2.5);
  std::vector<double> hundred(100);
  std::iota(hundred.rbegin(), hundred.rend(), 1);
  const DurationSummary summary = Summarize(hundred);
  EXPECT_EQ(summary.median_ms, 50.5);
  EXPECT_EQ(summary.p95_ms, 95);
  EXPECT_EQ(summary.min_ms, 1);
}

TEST(MatmulsTest, OperationsOfAWellKnownModel) {
  const OperationCount count = OperationsPerChunk(AishellConfig(), MeasuredHead::kCtc, {16, 64});
  // By hand, in multiply-adds. Stages of 33 x 39 and 16 x 19 outputs, then a linear layer.
  const int64_t subsampling = 33 * 39 * 9 * 256 + 16 * 19 * (9 * 256) * 256 + 16 * (19 * 256) * 256;
  const int64_t layer = 16 * (4 * 256 * 2048 + 4 * 256 * 256 + 3 * 256 * 256 + 8 * 256);
  EXPECT_EQ(count.dense, 2 * (subsampling + 12 * layer + 16 * 256 * 4233));
  // 80 keys, 80 values and 95 distances for each of 16 queries.
  EXPECT_EQ(count.attention, 2 * 12 * 16 * (80 + 80 + 95) * 256);
}

TEST(MatmulsTest, LargeMatmulsGrowWithTheBatch) {
  const std::vector<Matmul> one = LargeMatmuls(AishellConfig(), MeasuredHead::kCtc, 16, 1);
  const std::vector<Matmul> eight = LargeMatmuls(AishellConfig(), MeasuredHead::kCtc, 16, 8);
  ASSERT_EQ(one.size(), 2U + 12 * 8 + 1);
  ASSERT_EQ(eight.size(), one.size());
  for (size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(eight[i].rows, 8 * one[i].rows);
    EXPECT_EQ(eight[i].inputs, one[i].inputs);
  }
  EXPECT_EQ(one[0].kernel_size, 3);
  EXPECT_EQ(one[0].height, 16);
  EXPECT_EQ(one[0].width, 19);
}

TEST(MatmulsTest, EverySubsamplingHasItsMatmuls) {
  ModelConfig config = AishellConfig();
  config.encoder.subsampling.channels = 64;
  for (const auto type :
       {SubsamplingType::kConv2d6, SubsamplingType::kConv2d8, SubsamplingType::kLinear,
        SubsamplingType::kStriding4, SubsamplingType::kDwStriding8}) {
    config.encoder.subsampling.type = type;
    const OperationCount count = OperationsPerChunk(config, MeasuredHead::kCtc, {16, 64});
    EXPECT_GT(count.dense, 0);
    // The cost of everything after the subsampling is the same.
    EXPECT_EQ(count.attention,
              OperationsPerChunk(AishellConfig(), MeasuredHead::kCtc, {16, 64}).attention);
  }
}

TEST(MatmulTimerTest, TimesEveryPart) {
  ModelConfig config = AishellConfig();
  config.encoder.num_layers = 1;
  EXPECT_FALSE(MatmulTimer::Make("float64", LargeMatmuls(config, MeasuredHead::kCtc, 4, 1)));
  auto timer = MatmulTimer::Make("float32", LargeMatmuls(config, MeasuredHead::kCtc, 4, 2));
  ASSERT_TRUE(timer);
  for (const double milliseconds : timer->Run()) EXPECT_GT(milliseconds, 0);
  EXPECT_GT(PeakGigaOperations("float32", 0.001).value(), 0);
}

}  // namespace
}  // namespace runnel
