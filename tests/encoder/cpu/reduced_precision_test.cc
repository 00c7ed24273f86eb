// The kernels in bfloat16 and int8: near the exact result, and with the promises of streaming kept
// to the bit, whatever else is computed with a stream and in however many threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/rows.h"
#include "tests/support/arithmetic.h"
#include "tests/support/matrices.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"

namespace runnel {
namespace {

using testing::Arithmetic;
using testing::EqualBits;
using testing::ForwardUnderMask;
using testing::Playback;
using testing::RandomEncoder;
using testing::RandomFeatures;
using testing::RelativeError;
using testing::RunAlone;
using testing::SmallConfig;
using testing::StepTogether;

constexpr uint64_t kSeed = 20261121;

// Two layers whose matrix multiplications are as wide as real ones, so that every path of a kernel
// is taken.
EncoderConfig WideConfig() {
  EncoderConfig config = SmallConfig();
  config.input_dim = 40;
  config.model_dim = 96;
  config.num_layers = 2;
  config.num_heads = 4;
  config.feed_forward.hidden_dim = 200;
  return config;
}

EncoderConfig WideBranchformer() {
  EncoderConfig config = WideConfig();
  config.convolution.reset();
  config.branches = {ConvolutionType::kCausal, 160, 15, true, Activation::kIdentity, 7};
  return config;
}

class ReducedPrecisionTest : public ::testing::TestWithParam<Arithmetic> {};

INSTANTIATE_TEST_SUITE_P(All, ReducedPrecisionTest,
                         ::testing::ValuesIn(testing::ReducedPrecision()),
                         [](const auto& arithmetic) { return arithmetic.param.name; });

TEST_P(ReducedPrecisionTest, IsNearTheExactResultButNotIt) {
  for (const EncoderConfig& config : {SmallConfig(), WideConfig(), WideBranchformer()}) {
    const Encoder exact = RandomEncoder(config, testing::MostExact(), kSeed);
    const Encoder encoder = RandomEncoder(config, GetParam(), kSeed);
    const Matrix features = RandomFeatures(config, 301, kSeed + 1);
    const double error =
        RelativeError(RunAlone(encoder, features, 16, 32), RunAlone(exact, features, 16, 32));
    EXPECT_LT(error, 0.05);
    EXPECT_GT(error, 1e-5);
  }
}

TEST_P(ReducedPrecisionTest, ChunkedIsTheMaskToTheBit) {
  for (const EncoderConfig& config : {SmallConfig(), WideConfig(), WideBranchformer()}) {
    const Encoder encoder = RandomEncoder(config, GetParam(), kSeed);
    for (const int64_t num_frames : {7, 66, 143, 301}) {
      const Matrix features = RandomFeatures(config, num_frames, kSeed + 1);
      for (const int64_t chunk_size : testing::ChunkSizes()) {
        for (const int64_t left_context : testing::LeftContexts(chunk_size)) {
          EXPECT_TRUE(EqualBits(RunAlone(encoder, features, chunk_size, left_context),
                                ForwardUnderMask(encoder, features, chunk_size, left_context)))
              << num_frames << " frames, C=" << chunk_size << " M=" << left_context;
        }
      }
    }
  }
}

TEST_P(ReducedPrecisionTest, BatchesInThreadsAreTheStreamsAloneToTheBit) {
  const EncoderConfig config = WideConfig();
  const Encoder encoder = RandomEncoder(config, GetParam(), kSeed);
  constexpr int kNumThreads = 3;
  const auto decode = [&](uint64_t seed, bool* all_equal) {
    std::mt19937_64 random(seed);
    std::vector<Playback> runs;
    std::vector<Matrix> alone;
    for (int i = 0; i < 19; ++i) {
      const std::vector<int64_t> sizes = testing::ChunkSizes();
      const int64_t chunk_size = sizes[random() % sizes.size()];
      const Matrix features =
          RandomFeatures(config, static_cast<int64_t>(7 + random() % 260), random());
      alone.push_back(RunAlone(encoder, features, chunk_size, 24));
      runs.emplace_back(encoder, features, chunk_size, 24);
    }
    testing::PlayInRandomBatches(encoder, &runs, &random);
    *all_equal = true;
    for (size_t i = 0; i < runs.size(); ++i) {
      *all_equal = *all_equal && EqualBits(runs[i].output, alone[i]);
    }
  };
  bool equal[kNumThreads] = {};
  std::vector<std::thread> threads;
  for (int i = 0; i < kNumThreads; ++i) {
    threads.emplace_back(decode, kSeed + static_cast<uint64_t>(i), &equal[i]);
  }
  for (std::thread& thread : threads) thread.join();
  for (const bool one : equal) EXPECT_TRUE(one) << "seed " << kSeed;
}

TEST(CachePrecisionTest, Bfloat16HalvesKeysAndValues) {
  const EncoderConfig config = WideConfig();
  const auto bytes_of = [&](const Arithmetic& arithmetic) {
    const Encoder encoder = RandomEncoder(config, arithmetic, kSeed);
    Playback run(encoder, RandomFeatures(config, 601, kSeed), 16, 64);
    while (!run.Done()) StepTogether(encoder, {&run});
    return run.state.num_bytes();
  };
  const int64_t full = bytes_of(testing::CpuArithmetic());
  const int64_t half = bytes_of(testing::ReducedPrecision().front());
  EXPECT_EQ(full - half, 2 * config.num_layers * 64 * config.model_dim * 2);
}

}  // namespace
}  // namespace runnel
