// Skipped frames and forgotten context: what a stream computes afterwards, and what its state says.
#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "encoder/encoder.h"
#include "tests/support/arithmetic.h"
#include "tests/support/random_encoder.h"

namespace runnel {
namespace {

using testing::Arithmetic;
using testing::RandomEncoder;
using testing::RandomFeatures;

constexpr int64_t kChunk = 3;
constexpr int64_t kUnlimited = -1;

struct Input {
  const char* name;
  SubsamplingConfig subsampling;
  Normalization normalization;
};

constexpr Input kInputs[] = {
    {"conv2d4", {SubsamplingType::kConv2d4, 0, false}, Normalization::kNone},
    {"conv2d4_running", {SubsamplingType::kConv2d4, 0, false}, Normalization::kRunning},
    {"striding4", {SubsamplingType::kStriding4, 5, false}, Normalization::kNone},
    {"dw_striding8_running", {SubsamplingType::kDwStriding8, 5, false}, Normalization::kRunning},
    {"dw_striding8_causal", {SubsamplingType::kDwStriding8, 5, true}, Normalization::kGlobalCmvn},
};

void PrintTo(const Input& input, std::ostream* out) { *out << input.name; }

class EncoderSkipTest : public ::testing::TestWithParam<std::tuple<Arithmetic, Input>> {
 protected:
  static EncoderConfig Config() {
    EncoderConfig config = testing::SmallConfig();
    config.num_layers = 2;
    config.subsampling = std::get<1>(GetParam()).subsampling;
    config.normalization = std::get<1>(GetParam()).normalization;
    return config;
  }

  static Encoder Make(const EncoderConfig& config) {
    return RandomEncoder(config, std::get<0>(GetParam()), 7);
  }

  // `count` chunks of frames of random audio, bit by bit the same for equal seeds.
  static std::vector<std::string> Play(const Encoder& encoder, EncoderState* state, int count,
                                       uint64_t seed, int64_t left_context = kUnlimited,
                                       bool forgets = false) {
    const Matrix features = RandomFeatures(encoder.config(), 2000, seed);
    int64_t next = 0;
    std::vector<std::string> chunks;
    for (int i = 0; i < count; ++i) {
      const EncoderChunk chunk = *encoder.NextChunk(*state, kChunk, 2000 - next, false);
      const float* frames = features.rows().float32(next);
      const EncoderOutput output = encoder.Step({{state, frames, chunk, left_context}});
      next += chunk.num_frames;
      EXPECT_EQ(output.num_rows, std::vector<int64_t>{kChunk});
      chunks.push_back(BytesOf(output.rows));
      EXPECT_EQ(encoder.Inconsistency(*state, left_context, kNoRightContext, false, true), "");
      if (forgets) {
        encoder.ForgetContext(state);
        EXPECT_EQ(encoder.Inconsistency(*state, left_context, kNoRightContext, false, true), "");
      }
    }
    return chunks;
  }

  static std::string BytesOf(const Matrix& matrix) {
    const ConstRows rows = matrix.rows();
    const auto size = static_cast<size_t>(rows.count * rows.dim);
    return rows.type == DataType::kFloat64
               ? std::string(reinterpret_cast<const char*>(rows.float64()), size * sizeof(double))
               : std::string(reinterpret_cast<const char*>(rows.float32()), size * sizeof(float));
  }
};

// Nothing of the past is read but the statistics of the normalisation.
TEST_P(EncoderSkipTest, AfterSkippedFramesThePastIsForgotten) {
  const Encoder encoder = Make(Config());
  EncoderState played = encoder.InitialState();
  Play(encoder, &played, 4, 1);
  const FeatureStatistics statistics = played.statistics;
  // A stream that has computed nothing, with these statistics.
  const auto fresh_at = [&](int64_t offset) {
    EncoderState fresh = encoder.InitialState();
    fresh.statistics = statistics;
    encoder.SkipTo(offset, &fresh);
    fresh.num_skipped -= statistics.num_frames;
    return fresh;
  };
  const int64_t received = played.num_frames;
  constexpr int64_t kOffset = 40;
  encoder.SkipTo(kOffset, &played);
  EXPECT_EQ(played.offset, kOffset);
  EXPECT_EQ(played.context_begin, kOffset);
  EXPECT_EQ(played.num_frames, encoder.FirstRead(kOffset));
  EXPECT_EQ(played.num_skipped, encoder.FirstRead(kOffset) - received);
  EXPECT_EQ(encoder.Inconsistency(played, kUnlimited, kNoRightContext, false, true), "");
  EncoderState fresh = fresh_at(kOffset);
  const std::vector<std::string> rows = Play(encoder, &played, 4, 2);
  EXPECT_EQ(rows, Play(encoder, &fresh, 4, 2));
  EXPECT_EQ(played.offset, kOffset + 4 * kChunk);
  EXPECT_EQ(played.context_begin, kOffset);

  // Where the stream skipped to makes no difference, as its positions are relative.
  EncoderState later = fresh_at(60);
  EncoderState early = fresh_at(20);
  EXPECT_EQ(Play(encoder, &later, 2, 3), Play(encoder, &early, 2, 3));
}

// Without convolutions, which have a cache of their own, that is a left context of 0.
TEST_P(EncoderSkipTest, ForgettingAfterEveryChunkIsNoLeftContext) {
  EncoderConfig config = Config();
  const Encoder with_convolutions = Make(config);
  config.convolution.reset();
  const Encoder encoder = Make(config);
  EncoderState forgetting = encoder.InitialState();
  EncoderState without = encoder.InitialState();
  const std::vector<std::string> rows =
      Play(encoder, &forgetting, 5, 4, kUnlimited, /*forgets=*/true);
  EXPECT_EQ(rows, Play(encoder, &without, 5, 4, /*left_context=*/0));
  EXPECT_EQ(forgetting.context_begin, 5 * kChunk);
  EncoderState remembering = encoder.InitialState();
  EXPECT_NE(rows, Play(encoder, &remembering, 5, 4));
  EncoderState convolved = with_convolutions.InitialState();
  EncoderState same = convolved;
  EXPECT_NE(Play(with_convolutions, &convolved, 5, 4, 0, true),
            Play(with_convolutions, &same, 5, 4, 0));
}

TEST_P(EncoderSkipTest, AStateThatContradictsWhatWasSkippedIsRefused) {
  const Encoder encoder = Make(Config());
  EncoderState state = encoder.InitialState();
  Play(encoder, &state, 3, 5);
  encoder.SkipTo(30, &state);
  Play(encoder, &state, 3, 6);
  const auto problem = [&](auto change) {
    EncoderState changed = state;
    change(&changed);
    return encoder.Inconsistency(changed, kUnlimited, kNoRightContext, false, true);
  };
  EXPECT_NE(problem([](EncoderState* s) { s->context_begin += 1; }), "");
  EXPECT_NE(problem([](EncoderState* s) { s->context_begin = 0; }), "");
  EXPECT_NE(problem([](EncoderState* s) { s->offset += 1; }), "");
  EXPECT_NE(problem([](EncoderState* s) { s->num_skipped = -1; }), "");
  EXPECT_NE(problem([](EncoderState* s) { s->num_skipped = s->num_frames + 1; }), "");
  if (Config().normalization == Normalization::kRunning) {
    EXPECT_NE(problem([](EncoderState* s) { s->num_skipped += 1; }), "");
  }
  EXPECT_THROW(encoder.SkipTo(state.offset - 1, &state), std::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(All, EncoderSkipTest,
                         ::testing::Combine(::testing::ValuesIn(testing::FullPrecision()),
                                            ::testing::ValuesIn(kInputs)));

}  // namespace
}  // namespace runnel
