// Chunk by chunk equals the whole utterance under the chunk mask; batching, copying and the length
// of the stream change nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
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
using testing::ChunkSizes;
using testing::EqualBits;
using testing::ForwardUnderMask;
using testing::FullPrecision;
using testing::Joined;
using testing::kFull;
using testing::LeftContexts;
using testing::MostExact;
using testing::Playback;
using testing::PlayInRandomBatches;
using testing::RandomEncoder;
using testing::RandomFeatures;
using testing::RelativeError;
using testing::RunAlone;
using testing::SmallConfig;
using testing::StepTogether;

constexpr uint64_t kSeed = 20240117;

// A scheme and its `encoder.position`.
struct Position {
  const char* name;
  const char* json;
};

constexpr Position kPositions[] = {
    {"none", R"({"scheme": "none"})"},
    {"absolute", R"({"scheme": "absolute"})"},
    {"chunk_rpe", testing::kChunkRpe},
    {"chunk_rpe_icefall", R"({"scheme": "chunk_rpe", "linear_pos_bias": false,
                              "query_scaling": "before_bias", "table_order": "ascending"})"},
    {"bounded_rpe", R"({"scheme": "bounded_rpe", "radius": 4, "linear_pos_bias": true,
                        "query_scaling": "after_bias", "table_order": "descending"})"},
    {"relative_key_value", R"({"scheme": "relative_key_value", "max_distance": 5, "values": true,
                               "shared": false})"},
    {"relative_key_shared", R"({"scheme": "relative_key_value", "max_distance": 40,
                                "values": false, "shared": true})"},
    {"unshifted", R"({"scheme": "unshifted", "linear_pos_bias": true,
                      "query_scaling": "after_bias"})"},
    {"legacy_rel_pos", R"({"scheme": "legacy_rel_pos", "linear_pos_bias": false,
                           "query_scaling": "after_bias", "table_length": 100})"},
    {"windowed_rpe", R"({"scheme": "windowed_rpe", "linear_pos_bias": false,
                         "query_scaling": "after_bias", "table_order": "descending",
                         "left": 9, "right": 4})"},
    {"rotary", R"({"scheme": "rotary"})"}};

std::vector<Position> PositionsForChunks() {
  std::vector<Position> positions;
  for (const Position& position : kPositions) {
    if (!NeedsWholeUtterance(testing::PositionFromJson(position.json))) {
      positions.push_back(position);
    }
  }
  return positions;
}

class EncoderEquivalenceTest : public ::testing::TestWithParam<std::tuple<Arithmetic, Position>> {
 protected:
  static const Arithmetic& arithmetic() { return std::get<0>(GetParam()); }
  static EncoderConfig Config() { return SmallConfig(std::get<1>(GetParam()).json); }
  static Encoder MakeEncoder() { return RandomEncoder(Config(), arithmetic(), kSeed); }

  // Frame numbers are part of the computation, so that no bits are the same elsewhere in a stream.
  static bool IsAbsolute() {
    const PositionConfig position = Config().position;
    return std::holds_alternative<AbsolutePosition>(position) ||
           std::holds_alternative<UnshiftedPosition>(position) ||
           std::holds_alternative<RotaryPosition>(position);
  }
};

std::string TestName(const ::testing::TestParamInfo<std::tuple<Arithmetic, Position>>& info) {
  return std::get<0>(info.param).name + "_" + std::get<1>(info.param).name;
}

INSTANTIATE_TEST_SUITE_P(AllPositions, EncoderEquivalenceTest,
                         ::testing::Combine(::testing::ValuesIn(FullPrecision()),
                                            ::testing::ValuesIn(PositionsForChunks())),
                         TestName);

class WholeUtteranceTest : public EncoderEquivalenceTest {};

INSTANTIATE_TEST_SUITE_P(AllPositions, WholeUtteranceTest,
                         ::testing::Combine(::testing::ValuesIn(FullPrecision()),
                                            ::testing::ValuesIn(kPositions)),
                         TestName);

// Those that depend on nothing in attention.
class EncoderStateTest : public ::testing::TestWithParam<Arithmetic> {};

INSTANTIATE_TEST_SUITE_P(Precisions, EncoderStateTest, ::testing::ValuesIn(FullPrecision()),
                         [](const auto& precision) { return precision.param.name; });

TEST_P(EncoderEquivalenceTest, ChunkedEqualsFullUnderMask) {
  const Encoder encoder = MakeEncoder();
  double worst = 0;
  for (const int64_t num_frames : {7, 8, 10, 11, 66, 67, 68, 143, 301}) {
    const Matrix features = RandomFeatures(encoder.config(), num_frames, kSeed + 1);
    for (const int64_t chunk_size : ChunkSizes()) {
      for (const int64_t left_context : LeftContexts(chunk_size)) {
        SCOPED_TRACE(::testing::Message() << num_frames << " frames, chunk_size " << chunk_size
                                          << ", left_context " << left_context);
        const Matrix full = ForwardUnderMask(encoder, features, chunk_size, left_context);
        EXPECT_EQ(full.count(), ((num_frames - 1) / 2 - 1) / 2);
        const double error =
            RelativeError(RunAlone(encoder, features, chunk_size, left_context), full);
        EXPECT_LE(error, arithmetic().Chunked());
        worst = std::max(worst, error);
      }
    }
  }
  std::cout << "largest relative error " << worst << "\n";
}

TEST_P(EncoderEquivalenceTest, MaskMatters) {
  // The reference itself must depend on both sizes, or equality with it would say nothing.
  const Encoder encoder = MakeEncoder();
  const Matrix features = RandomFeatures(encoder.config(), 301, kSeed + 1);
  const Matrix base = ForwardUnderMask(encoder, features, 4, 8);
  EXPECT_GT(RelativeError(ForwardUnderMask(encoder, features, 8, 8), base), 1e-2);
  EXPECT_GT(RelativeError(ForwardUnderMask(encoder, features, 4, 9), base), 1e-3);
  EXPECT_GT(RelativeError(ForwardUnderMask(encoder, features, kFull, -1), base), 1e-2);
}

TEST_P(EncoderStateTest, TooShortGivesNoFrames) {
  const Encoder encoder = RandomEncoder(SmallConfig(), GetParam(), kSeed);
  for (int64_t num_frames = 0; num_frames < 7; ++num_frames) {
    const Matrix features = RandomFeatures(encoder.config(), num_frames, kSeed);
    EXPECT_EQ(ForwardUnderMask(encoder, features, 4, 8).count(), 0);
    EncoderState state = encoder.InitialState();
    const EncoderOutput output =
        encoder.Step({{&state, features.rows().float32(), {num_frames, true}, 8}});
    EXPECT_EQ(output.rows.count(), 0);
    EXPECT_EQ(state.offset, 0);
  }
}

TEST_P(EncoderStateTest, ChunkInPiecesTooShortForAFrameWaits) {
  // Frames that give no encoder frame yet are kept, not lost.
  const Encoder encoder = RandomEncoder(SmallConfig(), GetParam(), kSeed);
  const Matrix features = RandomFeatures(encoder.config(), 11, kSeed);
  EncoderState state = encoder.InitialState();
  const ConstRows rows = features.rows();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(encoder.Step({{&state, rows.float32(i), {1, false}, 8}}).rows.count(), 0);
  }
  const EncoderOutput output = encoder.Step({{&state, rows.float32(6), {5, true}, 8}});
  EXPECT_LE(RelativeError(output.rows, ForwardUnderMask(encoder, features, kFull, -1)),
            GetParam().Chunked());
}

TEST_P(WholeUtteranceTest, OneChunkIsTheWholeUtterance) {
  // Up to more frames than attention and subsampling handle at a time.
  const Encoder encoder = MakeEncoder();
  for (const int64_t num_frames : {7, 66, 4 * 600 + 5}) {
    const Matrix features = RandomFeatures(encoder.config(), num_frames, kSeed + 2);
    const Matrix whole = RunAlone(encoder, features, kFull, -1);
    EXPECT_LE(RelativeError(ForwardUnderMask(encoder, features, kFull, -1), whole),
              arithmetic().Chunked());
    // One chunk of exactly the utterance's length takes the same path with an explicit mask.
    EXPECT_LE(RelativeError(ForwardUnderMask(encoder, features, whole.count(), 0), whole),
              arithmetic().Chunked());
  }
}

TEST_P(WholeUtteranceTest, UtterancesInABatchDoNotMix) {
  const Encoder encoder = MakeEncoder();
  std::vector<Playback> runs;
  std::vector<Playback*> together;
  for (const int64_t num_frames : {30, 7, 301}) {
    runs.emplace_back(encoder, RandomFeatures(encoder.config(), num_frames, kSeed + 6), kFull, -1);
  }
  for (Playback& run : runs) together.push_back(&run);
  StepTogether(encoder, together);
  for (const Playback& run : runs) {
    EXPECT_LE(RelativeError(run.output, RunAlone(encoder, run.features, kFull, -1)),
              arithmetic().Batched());
  }
}

TEST_P(WholeUtteranceTest, IsTheReference) {
  if (!testing::kHasLibTorch) GTEST_SKIP() << "this build has no reference";
  const Matrix features = RandomFeatures(Config(), 301, kSeed + 8);
  const Encoder exact = RandomEncoder(Config(), MostExact(), kSeed);
  for (const int64_t chunk_size : NeedsWholeUtterance(Config().position)
                                      ? std::vector<int64_t>{kFull}
                                      : std::vector<int64_t>{3, 16, 40, kFull}) {
    EXPECT_LE(RelativeError(RunAlone(MakeEncoder(), features, chunk_size, 21),
                            RunAlone(exact, features, chunk_size, 21)),
              arithmetic().FromExact());
  }
}

TEST_P(WholeUtteranceTest, PositionsMatter) {
  // The scheme itself must be felt, or equality would say nothing of it.
  const Matrix features = RandomFeatures(Config(), 301, kSeed + 1);
  const Encoder without = RandomEncoder(SmallConfig(kPositions[0].json), arithmetic(), kSeed);
  const double difference = RelativeError(ForwardUnderMask(MakeEncoder(), features, kFull, -1),
                                          ForwardUnderMask(without, features, kFull, -1));
  if (std::holds_alternative<NoPosition>(Config().position)) {
    EXPECT_EQ(difference, 0);
  } else {
    EXPECT_GT(difference, 1e-3);
  }
}

TEST_P(EncoderEquivalenceTest, ChunksLongerThanAnyInternalBlock) {
  // With keys of earlier chunks before their own.
  const Encoder encoder = MakeEncoder();
  const Matrix features = RandomFeatures(encoder.config(), 4 * 600 + 5, kSeed + 2);
  EXPECT_LE(RelativeError(RunAlone(encoder, features, 300, -1),
                          ForwardUnderMask(encoder, features, 300, -1)),
            arithmetic().Chunked());
}

TEST_P(EncoderEquivalenceTest, BatchingChangesNothing) {
  const Encoder encoder = MakeEncoder();
  std::mt19937_64 random(kSeed);
  double worst = 0;
  bool bit_equal = true;
  for (int num_streams = 1; num_streams <= 17; num_streams += 4) {
    SCOPED_TRACE(::testing::Message() << num_streams << " streams, seed " << kSeed);
    std::vector<Playback> runs;
    std::vector<Matrix> alone;
    for (int i = 0; i < num_streams; ++i) {
      const int64_t chunk_size = ChunkSizes()[random() % ChunkSizes().size()];
      const auto lefts = LeftContexts(chunk_size);
      const int64_t left_context = lefts[random() % lefts.size()];
      const auto num_frames = static_cast<int64_t>(1 + random() % 260);
      const Matrix features = RandomFeatures(encoder.config(), num_frames, random());
      alone.push_back(RunAlone(encoder, features, chunk_size, left_context));
      runs.emplace_back(encoder, features, chunk_size, left_context);
    }
    PlayInRandomBatches(encoder, &runs, &random);
    for (size_t i = 0; i < runs.size(); ++i) {
      const double error = RelativeError(runs[i].output, alone[i]);
      EXPECT_LE(error, arithmetic().Batched()) << "stream " << i;
      worst = std::max(worst, error);
      bit_equal = bit_equal && EqualBits(runs[i].output, alone[i]);
    }
  }
  std::cout << "largest relative error " << worst << (bit_equal ? ", bit-equal" : "") << "\n";
}

TEST_P(EncoderEquivalenceTest, CopyContinuesOnItsOwn) {
  const Encoder encoder = MakeEncoder();
  const Matrix features = RandomFeatures(encoder.config(), 301, kSeed + 3);
  for (const int64_t chunk_size : {1, 3, 16}) {
    for (const int64_t left_context : {int64_t{0}, 3 * chunk_size + 1, int64_t{-1}}) {
      const Matrix expected = RunAlone(encoder, features, chunk_size, left_context);
      Playback original(encoder, features, chunk_size, left_context);
      for (int i = 0; i < 4; ++i) StepTogether(encoder, {&original});
      Playback copy = original;
      Playback other = original;
      other.features = RandomFeatures(encoder.config(), 301, kSeed + 4);
      // A copy that goes elsewhere must not be felt by the other two.
      while (!other.Done()) StepTogether(encoder, {&other});
      while (!original.Done()) StepTogether(encoder, {&original});
      while (!copy.Done()) StepTogether(encoder, {&copy});
      EXPECT_TRUE(EqualBits(original.output, expected));
      EXPECT_TRUE(EqualBits(copy.output, expected));
      EXPECT_FALSE(EqualBits(other.output, expected));
    }
  }
}

TEST_P(EncoderEquivalenceTest, FarFromTheStartNothingIsLost) {
  constexpr int64_t kFar = 10000007;
  const Encoder encoder = MakeEncoder();
  const Encoder exact = RandomEncoder(Config(), MostExact(), kSeed);
  for (const int64_t chunk_size : {int64_t{1}, int64_t{5}, kFull}) {
    SCOPED_TRACE(chunk_size);
    const Matrix features = RandomFeatures(encoder.config(), 301, kSeed + 7);
    const auto run_from = [&](const Encoder& any, int64_t offset) {
      Playback run(any, features, chunk_size, 7);
      run.state.offset = offset;
      run.state.num_frames = offset * any.subsampling().rate();
      while (!run.Done()) StepTogether(any, {&run});
      EXPECT_EQ(run.state.offset, offset + run.output.count());
      return run.output;
    };
    const Matrix far = run_from(encoder, kFar);
    EXPECT_LE(RelativeError(far, run_from(exact, kFar)), arithmetic().FromExact());
    EXPECT_EQ(EqualBits(far, run_from(encoder, 0)), !IsAbsolute());
  }
}

TEST_P(EncoderEquivalenceTest, MemoryIsFlat) {
  const Encoder encoder = MakeEncoder();
  const Matrix features = RandomFeatures(encoder.config(), 4 * 400, kSeed + 8);
  Playback run(encoder, features, 3, 10);
  int64_t bytes_early = 0;
  while (!run.Done()) {
    StepTogether(encoder, {&run});
    if (run.state.offset <= 120) bytes_early = run.state.num_bytes();
  }
  EXPECT_EQ(run.state.num_bytes(), bytes_early);
}

TEST_P(EncoderStateTest, SharedStateIsRefused) {
  const Encoder encoder = RandomEncoder(SmallConfig(), GetParam(), kSeed);
  const Matrix features = RandomFeatures(encoder.config(), 11, kSeed);
  EncoderState state = encoder.InitialState();
  const EncoderSegment segment{&state, features.rows().float32(), {11, true}, 8};
  EXPECT_THROW(encoder.Step({segment, segment}), std::invalid_argument);
  encoder.Step({segment});
  EXPECT_THROW(encoder.Step({segment}), std::invalid_argument) << "the stream has ended";
  EncoderState other = encoder.InitialState();
  EXPECT_THROW(encoder.Step({{&other, features.rows().float32(), {11, true}, -2}}),
               std::invalid_argument);
  EXPECT_THROW(ForwardUnderMask(encoder, features, 0, 4), std::invalid_argument);
}

TEST_P(EncoderStateTest, StreamPastFrame100000IsTheSameAsItsTail) {
  EncoderConfig config = SmallConfig();
  config.num_layers = 2;
  const Encoder encoder = RandomEncoder(config, GetParam(), kSeed);
  constexpr int64_t kChunkSize = 16;
  constexpr int64_t kLeftContext = 20;
  // What one frame depends on reaches back this far at most, through all layers, in whole chunks.
  const int64_t memory =
      (config.num_layers * (kLeftContext + kChunkSize + config.convolution->kernel_size) /
           kChunkSize +
       2) *
      kChunkSize;
  constexpr int64_t kStart = 100000;  // a multiple of kChunkSize
  const int64_t total = kStart + memory + 5 * kChunkSize;

  // The same thousand frames again and again, so that hours of audio need no memory here.
  const Matrix period = RandomFeatures(config, 4 * 1000, kSeed + 5);
  const auto features_from = [&](int64_t first, int64_t count) {
    std::vector<ConstRows> parts;
    while (count > 0) {
      const int64_t at_period = first % period.count();
      parts.push_back(period.rows().Part(at_period, std::min(count, period.count() - at_period)));
      first += parts.back().count;
      count -= parts.back().count;
    }
    return Joined(parts);
  };
  // Feeds frames [first, ...) until `last` encoder frames are out; keeps the last 5 chunks.
  const auto run_until = [&](EncoderState* state, int64_t* position, int64_t last,
                             std::vector<Matrix>* kept) {
    while (state->offset < last) {
      const int64_t n = encoder.FramesForChunk(*state, kChunkSize);
      const Matrix chunk = features_from(*position, n);
      *position += n;
      kept->push_back(
          encoder.Step({{state, chunk.rows().float32(), {n, false}, kLeftContext}}).rows);
      if (kept->size() > 5) kept->erase(kept->begin());
    }
  };

  EncoderState state = encoder.InitialState();
  int64_t position = 0;
  std::vector<Matrix> kept;
  run_until(&state, &position, 1000, &kept);
  const int64_t bytes_early = state.num_bytes();
  run_until(&state, &position, kStart, &kept);
  EXPECT_EQ(state.num_bytes(), bytes_early) << "memory must be flat";

  EncoderState copy = state;
  int64_t copy_position = position;
  std::vector<Matrix> copy_kept = kept;
  run_until(&state, &position, total, &kept);
  run_until(&copy, &copy_position, total, &copy_kept);
  EXPECT_EQ(state.offset, total);
  EXPECT_TRUE(EqualBits(Joined(kept), Joined(copy_kept)));

  // A stream that was switched on at frame 100,000 hears the same once its caches are full.
  EncoderState late = encoder.InitialState();
  int64_t late_position = 4 * kStart;
  std::vector<Matrix> late_kept;
  run_until(&late, &late_position, total - kStart, &late_kept);
  EXPECT_LE(RelativeError(Joined(kept), Joined(late_kept)), GetParam().Chunked());
}

}  // namespace
}  // namespace runnel
