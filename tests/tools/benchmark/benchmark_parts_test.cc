#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "encoder/cpu/backend.h"
#include "encoder/encoder.h"
#include "encoder/encoder_weights.h"
#include "tools/benchmark/durations.h"
#include "tools/benchmark/machine.h"
#include "tools/benchmark/matmul_timer.h"
#include "tools/benchmark/matmuls.h"
#include "tools/benchmark/part_timer.h"
#include "tools/benchmark/random/weights.h"

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
  EXPECT_EQ(count.dense(), 2 * (subsampling + 12 * layer + 16 * 256 * 4233));
  EXPECT_EQ(count.parts[kSubsamplingPart], 2 * subsampling);
  EXPECT_EQ(count.parts[kFeedForwardPart], 2 * 12 * 16 * 4 * 256 * 2048);
  EXPECT_EQ(count.parts[kAttentionPart], 2 * 12 * 16 * 4 * 256 * 256);
  EXPECT_EQ(count.parts[kConvolutionPart], 2 * 12 * 16 * (3 * 256 * 256 + 8 * 256));
  EXPECT_EQ(count.parts[kCtcPart], 2 * 16 * 256 * 4233);
  // 80 keys, 80 values and 95 distances for each of 16 queries.
  EXPECT_EQ(count.attention, 2 * 12 * 16 * (80 + 80 + 95) * 256);
}

TEST(MatmulsTest, WeightsAndCachesOfAWellKnownModel) {
  const ModelConfig config = AishellConfig();
  for (const int64_t num_streams : {1, 16}) {
    const PartCounts count = NumWeights(LargeMatmuls(config, MeasuredHead::kCtc, 16, num_streams));
    EXPECT_EQ(count[kSubsamplingPart], 9 * 256 * 256 + 19 * 256 * 256);
    EXPECT_EQ(count[kFeedForwardPart], 12 * 4 * 256 * 2048);
    EXPECT_EQ(count[kAttentionPart], 12 * 4 * 256 * 256);
    EXPECT_EQ(count[kConvolutionPart], 12 * 3 * 256 * 256);
    EXPECT_EQ(count[kCtcPart], 256 * 4233);
  }
  EXPECT_EQ(NumCachedValues(config.encoder, {16, 64}), 12 * 2 * 64 * 256);
}

TEST(MatmulsTest, OperationsOfLayersWithStridesAndGroups) {
  ModelConfig config = AishellConfig();
  config.encoder.type = EncoderType::kEfficientConformer;
  config.encoder.num_layers = 2;
  config.encoder.convolution->kernel_size = 15;
  config.encoder.position = GroupedUnshifted{{}, {3, 1}};
  config.encoder.strides = {2, 1};
  config.encoder.strides_divide_kernels = true;
  const OperationCount count = OperationsPerChunk(config, MeasuredHead::kCtc, {3, 6});
  // Layer 0 has 6 frames up to its convolution, which gives 3; layer 1 has 3.
  EXPECT_EQ(count.parts[kFeedForwardPart], 2 * (6 + 3 + 3 + 3) * 2 * 256 * 2048);
  EXPECT_EQ(count.parts[kAttentionPart], 2 * (6 + 3) * 4 * 256 * 256);
  EXPECT_EQ(count.parts[kConvolutionPart],
            2 * ((6 + 3) * 2 * 256 * 256 + (3 + 3) * 256 * 256 + 3 * (15 + 7) * 256));
  EXPECT_EQ(count.parts[kCtcPart], 2 * 3 * 256 * 4233);
  // 2 groups with 6, of 3 times as many values; then 3 frames with 9. Keys, positions and values.
  EXPECT_EQ(count.attention, 2 * 3 * (2 * 6 * 3 + 3 * 9) * 256);
  EXPECT_EQ(NumCachedValues(config.encoder, {3, 6}), 2 * (12 + 6) * 256);
  config.encoder.strides = {1, 1};
  EXPECT_EQ(OperationsPerChunk(config, MeasuredHead::kCtc, {6, 6}).parts[kSubsamplingPart],
            count.parts[kSubsamplingPart]);
}

TEST(MatmulsTest, OperationsOfIcefallsSubsampling) {
  ModelConfig config = AishellConfig();
  config.encoder.subsampling.type = SubsamplingType::kConv2d122;
  const OperationCount count = OperationsPerChunk(config, MeasuredHead::kCtc, {16, 64});
  // Stages of 67 x 80, 33 x 39 and 16 x 19 outputs with 8, 32 and 128 channels.
  EXPECT_EQ(count.parts[kSubsamplingPart], 2 * (67 * 80 * 9 * 8 + 33 * 39 * (9 * 8) * 32 +
                                                16 * 19 * (9 * 32) * 128 + 16 * (19 * 128) * 256));
}

TEST(MatmulsTest, OperationsOfWindowsThatMoveWithTheQuery) {
  ModelConfig config = AishellConfig();
  ChunkRpe position;
  position.window = AttentionWindow{3, 2};
  config.encoder.position = position;
  // Of 8 queries: 3 + 4 + 5 + 6 + 6 + 6 + 5 + 4 keys, each with a position and a value.
  EXPECT_EQ(OperationsPerChunk(config, MeasuredHead::kCtc, {8, 0}).attention,
            2 * 12 * 3 * 39 * 256);
  position.window = AttentionWindow{-1, -1};
  config.encoder.position = position;
  EXPECT_EQ(OperationsPerChunk(config, MeasuredHead::kCtc, {8, 0}).attention,
            2 * 12 * 3 * 64 * 256);
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
       {SubsamplingType::kConv1d2, SubsamplingType::kConv2d6, SubsamplingType::kConv2d8,
        SubsamplingType::kConv2d122, SubsamplingType::kLinear, SubsamplingType::kStriding4,
        SubsamplingType::kDwStriding8}) {
    config.encoder.subsampling.type = type;
    const OperationCount count = OperationsPerChunk(config, MeasuredHead::kCtc, {16, 64});
    EXPECT_GT(count.dense(), 0);
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

TEST(PartTimerTest, TimesEveryPartAndChangesNothing) {
  EncoderConfig config = AishellConfig().encoder;
  config.num_layers = 2;
  PartTimes times = {};
  const auto log_probs = [&](bool timed) {
    RandomWeights weights(DataType::kFloat32);
    auto backend = MakeCpuBackend(config, &weights, {});
    if (timed) backend = MakeTimedBackend(std::move(backend), &times);
    const auto head = backend->MakeCtcHead(BindCtcHead(config.model_dim, 50, &weights));
    const Encoder encoder(config, &weights, *backend);
    const std::vector<float> features(static_cast<size_t>(100 * config.input_dim), 1.0f);
    const Matrix rows = encoder.ForwardUnderMask(features.data(), 100, 4, 8);
    return head->LogProbs(rows.rows());
  };
  const Matrix expected = log_probs(false);
  EXPECT_EQ(times, PartTimes{});
  const Matrix found = log_probs(true);
  for (const double milliseconds : times) EXPECT_GT(milliseconds, 0);
  ASSERT_EQ(found.count(), expected.count());
  for (int64_t i = 0; i < found.count() * found.dim(); ++i) {
    ASSERT_EQ(found.rows().float32()[i], expected.rows().float32()[i]);
  }
}

TEST(MemoryBandwidthTest, IsThatOfAMachine) {
  for (const int64_t num_bytes : {int64_t{1}, int64_t{1'000'000}, kMemoryBytes}) {
    const double found = MemoryBandwidth(num_bytes);
    EXPECT_GT(found, 0.001);
    EXPECT_LT(found, 10'000);
  }
}

}  // namespace
}  // namespace runnel
