// Chunk by chunk equals the whole utterance under the chunk mask; batching, copying and the length
// of the stream change nothing.
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

#include "encoder/encoder.h"
#include "tests/support/playback.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::ChunkSizes;
using testing::FormulaTolerance;
using testing::kBatchTolerance;
using testing::kFull;
using testing::LeftContexts;
using testing::Playback;
using testing::RandomEncoder;
using testing::RandomFeatures;
using testing::RelativeError;
using testing::RunAlone;
using testing::SmallConfig;
using testing::StepTogether;

constexpr uint64_t kSeed = 20240117;

class EncoderEquivalenceTest : public ::testing::TestWithParam<at::ScalarType> {};

INSTANTIATE_TEST_SUITE_P(Precisions, EncoderEquivalenceTest,
                         ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& precision) { return c10::toString(precision.param); });

TEST_P(EncoderEquivalenceTest, ChunkedEqualsFullUnderMask) {
  const Encoder encoder = RandomEncoder(SmallConfig(), GetParam(), kSeed);
  double worst = 0;
  for (const int64_t num_frames : {7, 8, 10, 11, 66, 67, 68, 143, 301}) {
    const at::Tensor features = RandomFeatures(encoder.config(), num_frames, kSeed + 1);
    for (const int64_t chunk_size : ChunkSizes()) {
      for (const int64_t left_context : LeftContexts(chunk_size)) {
        SCOPED_TRACE(::testing::Message() << num_frames << " frames, chunk_size " << chunk_size
                                          << ", left_context " << left_context);
        const at::Tensor full = encoder.ForwardUnderMask(features, chunk_size, left_context);
        EXPECT_EQ(full.size(0), ((num_frames - 1) / 2 - 1) / 2);
        const double error =
            RelativeError(RunAlone(encoder, features, chunk_size, left_context), full);
        EXPECT_LE(error, FormulaTolerance(GetParam()));
        worst = std::max(worst, error);
      }
    }
  }
  std::cout << "largest relative error " << worst << "\n";
}

TEST_P(EncoderEquivalenceTest, MaskMatters) {
  // The reference itself must depend on both sizes, or equality with it would say nothing.
  const Encoder encoder = RandomEncoder(SmallConfig(), GetParam(), kSeed);
  const at::Tensor features = RandomFeatures(encoder.config(), 301, kSeed + 1);
  const at::Tensor base = encoder.ForwardUnderMask(features, 4, 8);
  EXPECT_GT(RelativeError(encoder.ForwardUnderMask(features, 8, 8), base), 1e-2);
  EXPECT_GT(RelativeError(encoder.ForwardUnderMask(features, 4, 9), base), 1e-3);
  EXPECT_GT(RelativeError(encoder.ForwardUnderMask(features, kFull, -1), base), 1e-2);
}

TEST_P(EncoderEquivalenceTest, TooShortGivesNoFrames) {
  const Encoder encoder = RandomEncoder(SmallConfig(), GetParam(), kSeed);
  for (int64_t num_frames = 0; num_frames < 7; ++num_frames) {
    const at::Tensor features = RandomFeatures(encoder.config(), num_frames, kSeed);
    EXPECT_EQ(encoder.ForwardUnderMask(features, 4, 8).size(0), 0);
    EncoderState state = encoder.InitialState(8);
    const EncoderOutput output =
        encoder.Step({{&state, features.data_ptr<float>(), {num_frames, true}}});
    EXPECT_EQ(output.rows.size(0), 0);
    EXPECT_EQ(state.offset, 0);
  }
}

TEST_P(EncoderEquivalenceTest, ChunkInPiecesTooShortForAFrameWaits) {
  // Frames that give no encoder frame yet are kept, not lost.
  const Encoder encoder = RandomEncoder(SmallConfig(), GetParam(), kSeed);
  const at::Tensor features = RandomFeatures(encoder.config(), 11, kSeed);
  EncoderState state = encoder.InitialState(8);
  const float* data = features.data_ptr<float>();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(encoder.Step({{&state, data + i * features.size(1), {1, false}}}).rows.size(0), 0);
  }
  const EncoderOutput output = encoder.Step({{&state, data + 6 * features.size(1), {5, true}}});
  EXPECT_LE(RelativeError(output.rows, encoder.ForwardUnderMask(features, kFull, -1)),
            FormulaTolerance(GetParam()));
}

TEST_P(EncoderEquivalenceTest, WholeUtteranceLongerThanAnyInternalBlock) {
  // More frames than attention and subsampling handle at a time.
  const Encoder encoder = RandomEncoder(SmallConfig(), GetParam(), kSeed);
  const at::Tensor features = RandomFeatures(encoder.config(), 4 * 600 + 5, kSeed + 2);
  const at::Tensor whole = RunAlone(encoder, features, kFull, -1);
  // One chunk of exactly the utterance's length takes the same path with an explicit mask.
  EXPECT_LE(RelativeError(encoder.ForwardUnderMask(features, whole.size(0), 0), whole),
            FormulaTolerance(GetParam()));
  // Chunks longer than a block, with keys of earlier chunks before their own.
  EXPECT_LE(RelativeError(RunAlone(encoder, features, 300, -1),
                          encoder.ForwardUnderMask(features, 300, -1)),
            FormulaTolerance(GetParam()));
}

TEST_P(EncoderEquivalenceTest, BatchingChangesNothing) {
  const Encoder encoder = RandomEncoder(SmallConfig(), GetParam(), kSeed);
  std::mt19937_64 random(kSeed);
  double worst = 0;
  bool bit_equal = true;
  for (int num_streams = 1; num_streams <= 17; num_streams += 4) {
    SCOPED_TRACE(::testing::Message() << num_streams << " streams, seed " << kSeed);
    std::vector<Playback> runs;
    std::vector<at::Tensor> alone;
    for (int i = 0; i < num_streams; ++i) {
      const int64_t chunk_size = ChunkSizes()[random() % ChunkSizes().size()];
      const auto lefts = LeftContexts(chunk_size);
      const int64_t left_context = lefts[random() % lefts.size()];
      const auto num_frames = static_cast<int64_t>(1 + random() % 260);
      const at::Tensor features = RandomFeatures(encoder.config(), num_frames, random());
      alone.push_back(RunAlone(encoder, features, chunk_size, left_context));
      runs.emplace_back(encoder, features, chunk_size, left_context);
    }
    // Any subset of the streams that have audio left steps together.
    for (;;) {
      std::vector<Playback*> waiting;
      for (Playback& run : runs) {
        if (!run.Done()) waiting.push_back(&run);
      }
      if (waiting.empty()) break;
      std::shuffle(waiting.begin(), waiting.end(), random);
      waiting.resize(1 + random() % waiting.size());
      StepTogether(encoder, waiting);
    }
    for (size_t i = 0; i < runs.size(); ++i) {
      const double error = RelativeError(runs[i].Output(), alone[i]);
      EXPECT_LE(error, kBatchTolerance) << "stream " << i;
      worst = std::max(worst, error);
      bit_equal = bit_equal && at::equal(runs[i].Output(), alone[i]);
    }
  }
  std::cout << "largest relative error " << worst << (bit_equal ? ", bit-equal" : "") << "\n";
}

TEST_P(EncoderEquivalenceTest, CopyContinuesOnItsOwn) {
  const Encoder encoder = RandomEncoder(SmallConfig(), GetParam(), kSeed);
  const at::Tensor features = RandomFeatures(encoder.config(), 301, kSeed + 3);
  for (const int64_t chunk_size : {1, 3, 16}) {
    for (const int64_t left_context : {int64_t{0}, 3 * chunk_size + 1, int64_t{-1}}) {
      const at::Tensor expected = RunAlone(encoder, features, chunk_size, left_context);
      Playback original(encoder, features, chunk_size, left_context);
      for (int i = 0; i < 4; ++i) StepTogether(encoder, {&original});
      Playback copy = original;
      Playback other = original;
      other.features = RandomFeatures(encoder.config(), 301, kSeed + 4);
      // A copy that goes elsewhere must not be felt by the other two.
      while (!other.Done()) StepTogether(encoder, {&other});
      while (!original.Done()) StepTogether(encoder, {&original});
      while (!copy.Done()) StepTogether(encoder, {&copy});
      EXPECT_TRUE(at::equal(original.Output(), expected));
      EXPECT_TRUE(at::equal(copy.Output(), expected));
      EXPECT_FALSE(at::equal(other.Output(), expected));
    }
  }
}

TEST_P(EncoderEquivalenceTest, SharedStateIsRefused) {
  const Encoder encoder = RandomEncoder(SmallConfig(), GetParam(), kSeed);
  const at::Tensor features = RandomFeatures(encoder.config(), 11, kSeed);
  EncoderState state = encoder.InitialState(8);
  const EncoderSegment segment{&state, features.data_ptr<float>(), {11, true}};
  EXPECT_THROW(encoder.Step({segment, segment}), std::invalid_argument);
  encoder.Step({segment});
  EXPECT_THROW(encoder.Step({segment}), std::invalid_argument) << "the stream has ended";
  EXPECT_THROW(encoder.InitialState(-2), std::invalid_argument);
  EXPECT_THROW(encoder.ForwardUnderMask(features, 0, 4), std::invalid_argument);
}

TEST_P(EncoderEquivalenceTest, StreamPastFrame100000IsTheSameAsItsTail) {
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
  const at::Tensor period = RandomFeatures(config, 4 * 1000, kSeed + 5);
  const auto features_from = [&](int64_t first, int64_t count) {
    std::vector<at::Tensor> parts;
    while (count > 0) {
      const int64_t at_period = first % period.size(0);
      const int64_t n = std::min(count, period.size(0) - at_period);
      parts.push_back(period.narrow(0, at_period, n));
      first += n;
      count -= n;
    }
    return at::cat(parts, 0);
  };
  // Feeds frames [first, ...) until `last` encoder frames are out; keeps the last 5 chunks.
  const auto run_until = [&](EncoderState* state, int64_t* position, int64_t last,
                             std::vector<at::Tensor>* kept) {
    while (state->offset < last) {
      const int64_t n = encoder.FramesForChunk(*state, kChunkSize);
      const at::Tensor chunk = features_from(*position, n);
      *position += n;
      const EncoderOutput output = encoder.Step({{state, chunk.data_ptr<float>(), {n, false}}});
      kept->push_back(output.rows.clone());
      if (kept->size() > 5) kept->erase(kept->begin());
    }
  };

  EncoderState state = encoder.InitialState(kLeftContext);
  int64_t position = 0;
  std::vector<at::Tensor> kept;
  run_until(&state, &position, 1000, &kept);
  const int64_t bytes_early = state.num_bytes();
  run_until(&state, &position, kStart, &kept);
  EXPECT_EQ(state.num_bytes(), bytes_early) << "memory must be flat";

  EncoderState copy = state;
  int64_t copy_position = position;
  std::vector<at::Tensor> copy_kept = kept;
  run_until(&state, &position, total, &kept);
  run_until(&copy, &copy_position, total, &copy_kept);
  EXPECT_EQ(state.offset, total);
  EXPECT_TRUE(at::equal(at::cat(kept, 0), at::cat(copy_kept, 0)));

  // A stream that was switched on at frame 100,000 hears the same once its caches are full.
  EncoderState late = encoder.InitialState(kLeftContext);
  int64_t late_position = 4 * kStart;
  std::vector<at::Tensor> late_kept;
  run_until(&late, &late_position, total - kStart, &late_kept);
  EXPECT_LE(RelativeError(at::cat(kept, 0), at::cat(late_kept, 0)), FormulaTolerance(GetParam()));
}

}  // namespace
}  // namespace runnel
