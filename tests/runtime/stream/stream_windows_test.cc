// Streams of an offline model in windows of left context, chunk and right context: every row is
// that of the whole utterance over the same frames, to the bit, whatever packets, batch and
// threads. Cached windows have other rows (tests/tools/cli/test_cached_windows.py), and the same
// ones whatever packets, batch and threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "encoder/encoder.h"
#include "encoder/model_file/model_archive.h"
#include "frontend/feature_stream.h"
#include "runtime/model/encode_chunks.h"
#include "runtime/model/model_parts.h"
#include "runtime/search/ctc_search.h"
#include "runtime/stream.h"
#include "tests/support/archive_files.h"
#include "tests/support/error_message.h"
#include "tests/support/forged_counters.h"
#include "tests/support/random_audio.h"
#include "tests/support/random_operations.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::DecodeAtOnce;
using testing::Describe;
using testing::ErrorMessage;
using testing::ExpectSame;
using testing::Final;
using testing::kUnlimited;
using testing::kWhole;
using testing::NoiseOfChangingLevel;
using testing::Offline;
using testing::Results;
using testing::Tiny;

StreamOptions Windows(int64_t chunk_size, int64_t left_context, int64_t right_context,
                      SearchMethod method = SearchMethod::kGreedy) {
  StreamOptions options = testing::Options(chunk_size, left_context, method);
  options.right_context = right_context;
  return options;
}

std::vector<StreamOptions> WindowGrid() {
  std::vector<StreamOptions> grid;
  for (const int64_t chunk_size : {1, 4, 16}) {
    for (const int64_t left_context : {0, 5, 40}) {
      for (const int64_t right_context : {0, 1, 7, 16}) {
        grid.push_back(
            Windows(chunk_size, left_context, right_context,
                    grid.size() % 2 == 0 ? SearchMethod::kGreedy : SearchMethod::kPrefixBeam));
      }
    }
  }
  return grid;
}

std::vector<StreamOptions> CachedGrid() {
  std::vector<StreamOptions> grid;
  for (StreamOptions options : WindowGrid()) {
    if (options.right_context % 7 != 0) continue;
    options.cached_windows = true;
    grid.push_back(options);
  }
  return grid;
}

std::vector<StreamOptions> AllWindows() {
  std::vector<StreamOptions> all = WindowGrid();
  for (const StreamOptions& options : CachedGrid()) all.push_back(options);
  return all;
}

Matrix FeaturesOf(const Model& model, const std::vector<float>& samples) {
  FeatureStream stream(model.parts().frame_extractor, model.parts().config.features.sample_scale);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  Matrix frames(DataType::kFloat32, stream.dim(), stream.NumFramesReady());
  stream.PopFrames(static_cast<size_t>(frames.count()), frames.rows().float32());
  return frames;
}

void Append(ConstRows rows, Matrix* to) {
  std::memcpy(to->AddRows(rows.count).data, rows.data,
              static_cast<size_t>(rows.count * rows.dim * BytesOf(rows.type)));
}

// By hand: for each chunk an utterance of its own, over the feature frames of its window.
Matrix RowsByHand(const Model& model, const Matrix& frames, const StreamOptions& options) {
  const Encoder& encoder = model.parts().encoder;
  const SubsamplingGeometry& geometry = encoder.subsampling();
  const int64_t total = geometry.NumEncoderFrames(frames.count());
  Matrix all(encoder.data_type(), model.parts().config.encoder.model_dim);
  for (int64_t begin = 0; begin < total; begin += options.chunk_size) {
    const int64_t first = std::max<int64_t>(0, begin - options.left_context);
    const int64_t end = begin + options.chunk_size + options.right_context;
    const int64_t end_frame =
        std::min(frames.count(), (end - 1) * geometry.rate() + geometry.right_context() + 1);
    const int64_t num_frames = end_frame - first * geometry.rate();
    EncoderState state = encoder.InitialState();
    const Matrix window =
        encoder
            .Step(
                {{&state, frames.rows().float32(first * geometry.rate()), {num_frames, true}, -1}})
            .rows;
    const int64_t count = std::min(options.chunk_size, total - begin);
    Append(window.rows().Part(begin - first, count), &all);
  }
  return all;
}

Matrix RowsOfStream(const Model& model, const Matrix& frames, const StreamOptions& options) {
  Matrix all(model.parts().encoder.data_type(), model.parts().config.encoder.model_dim);
  int64_t next = 0;
  EncodeChunks(
      model.parts(), {options.chunk_size, options.left_context, options.right_context},
      [&](int64_t max_frames) {
        const float* first = frames.rows().float32(next);
        const int64_t count = std::min(max_frames, frames.count() - next);
        next += count;
        return std::vector<float>(first, first + count * frames.dim());
      },
      [&](const Matrix& rows) { Append(rows.rows(), &all); });
  return all;
}

TEST(StreamWindowsTest, RowsAreThoseOfTheWholeUtteranceOverTheSameFrames) {
  for (const size_t num_samples : {size_t{50123}, size_t{1500}, size_t{100}}) {
    const Matrix frames = FeaturesOf(*Offline(), NoiseOfChangingLevel(num_samples, 2));
    for (const StreamOptions& options : WindowGrid()) {
      SCOPED_TRACE(Describe(options));
      const Matrix expected = RowsByHand(*Offline(), frames, options);
      const Matrix actual = RowsOfStream(*Offline(), frames, options);
      ASSERT_EQ(actual.count(), expected.count());
      if (actual.count() == 0 || !Offline()->is_bit_reproducible()) continue;
      EXPECT_EQ(
          std::memcmp(actual.rows().data, expected.rows().data,
                      static_cast<size_t>(actual.count() * actual.dim() * BytesOf(actual.type()))),
          0);
    }
  }
}

TEST(StreamWindowsTest, TheSearchReadsTheseRows) {
  const std::vector<float> samples = NoiseOfChangingLevel(50123, 2);
  const Matrix frames = FeaturesOf(*Offline(), samples);
  for (const StreamOptions& options : WindowGrid()) {
    SCOPED_TRACE(Describe(options));
    const Matrix rows = RowsByHand(*Offline(), frames, options);
    const Matrix log_probs = ToFloat32(Offline()->parts().RequireCtcHead().LogProbs(rows.rows()));
    const auto search = MakeCtcSearch(options.search, 7, 0);
    search->Advance(log_probs.rows().float32(), log_probs.count());
    const TokenSequence expected = search->NBest(1).front();
    const Hypothesis actual = DecodeAtOnce(samples, options, Offline()).front();
    EXPECT_NEAR(actual.score, expected.score, 1e-5 * std::max(1.0, std::abs(expected.score)));
    ASSERT_EQ(actual.tokens.size(), expected.tokens.size());
    EXPECT_GE(actual.tokens.size(), 4U) << "otherwise equal results prove little";
    for (size_t i = 0; i < expected.tokens.size(); ++i) {
      EXPECT_EQ(actual.tokens[i].id, expected.tokens[i].id);
      EXPECT_EQ(actual.tokens[i].frame, expected.tokens[i].first_frame);
    }
  }
}

// With contexts that reach over the whole audio, windows are the whole utterance.
TEST(StreamWindowsTest, WideWindowsAreTheWholeUtterance) {
  const std::vector<float> samples = NoiseOfChangingLevel(24000, 3);
  ExpectSame(DecodeAtOnce(samples, Windows(4, 1000, 1000), Offline()),
             DecodeAtOnce(samples, testing::Options(kWhole, kUnlimited), Offline()));
}

TEST(StreamWindowsTest, AnyPacketsGiveTheSameBits) {
  constexpr uint64_t kSeed = 31;
  const std::vector<float> samples = NoiseOfChangingLevel(24321, 3);
  std::mt19937_64 random(kSeed);
  for (const StreamOptions& options : AllWindows()) {
    const Results expected = DecodeAtOnce(samples, options, Offline());
    for (const size_t max_packet : {37, 5000}) {
      SCOPED_TRACE(Describe(options) + ", packets up to " + std::to_string(max_packet));
      Stream stream(Offline(), options);
      testing::Feed(&stream, samples, max_packet, &random);
      ExpectSame(Final(stream), expected);
    }
  }
}

TEST(StreamWindowsTest, AnyBatchGivesTheSameBits) {
  constexpr uint64_t kSeed = 32;
  std::mt19937_64 random(kSeed);
  std::vector<StreamOptions> options = AllWindows();
  options.push_back(testing::Options(kWhole, kUnlimited));
  std::vector<std::vector<float>> samples;
  std::vector<Stream> streams;
  for (size_t i = 0; i < options.size(); ++i) {
    samples.push_back(NoiseOfChangingLevel(8000 + 900 * i, i));
    streams.emplace_back(Offline(), options[i]);
    streams.back().AcceptSamples(samples[i].data(), samples[i].size());
    if (i % 3 != 0) streams.back().Finish();
  }
  const auto decode_together = [&] {
    std::vector<Stream*> ready;
    do {
      ready.clear();
      for (Stream& stream : streams) {
        if (stream.ChunkReady() && random() % 2 == 0) ready.push_back(&stream);
      }
      DecodeChunks(ready);
    } while (std::any_of(streams.begin(), streams.end(),
                         [](const Stream& stream) { return stream.ChunkReady(); }));
  };
  decode_together();
  for (Stream& stream : streams) stream.Finish();
  decode_together();
  for (size_t i = 0; i < options.size(); ++i) {
    SCOPED_TRACE(Describe(options[i]));
    ExpectSame(Final(streams[i]), DecodeAtOnce(samples[i], options[i], Offline()),
               Offline()->is_bit_reproducible() ? 0 : 1e-3);
  }
}

TEST(StreamWindowsTest, AnyThreadsOfAStepGiveTheSameBits) {
  if (!Offline()->is_bit_reproducible()) GTEST_SKIP() << "of the CPU backend only";
  const std::vector<float> samples = NoiseOfChangingLevel(24321, 4);
  for (const int step_threads : {2, 3}) {
    const std::shared_ptr<const Model> model = testing::LoadOffline(step_threads);
    StreamOptions cached = Windows(4, 20, 7);
    cached.cached_windows = true;
    for (const StreamOptions& options : {Windows(4, 20, 7), Windows(16, 5, 16), cached}) {
      ExpectSame(DecodeAtOnce(samples, options, model), DecodeAtOnce(samples, options, Offline()));
    }
  }
}

TEST(StreamWindowsTest, AChunkIsReadyWithItsRightContext) {
  const std::vector<float> samples = NoiseOfChangingLevel(70000, 5);
  Stream stream(Offline(), Windows(4, 8, 6));
  // Frame t of the encoder reads the feature frames 4 t to 4 t + 6, and frame n the samples up to
  // 160 n + 400.
  EXPECT_EQ(stream.MinSamplesToChunk(), (4 * 9 + 6) * 160 + 400);
  size_t at = 0;
  for (int64_t chunk = 1; chunk <= 20; ++chunk) {
    const auto needed = static_cast<size_t>(stream.MinSamplesToChunk());
    stream.AcceptSamples(samples.data() + at, needed - 1);
    EXPECT_FALSE(stream.ChunkReady());
    stream.AcceptSamples(samples.data() + at + needed - 1, 1);
    EXPECT_TRUE(stream.ChunkReady());
    at += needed;
    stream.Decode();
    EXPECT_EQ(stream.num_encoder_frames(), 4 * chunk);
    EXPECT_EQ(stream.num_waiting_frames(), 6);
  }
}

class StateSizeTest : public ::testing::TestWithParam<bool> {};

TEST_P(StateSizeTest, IsConstant) {
  const std::vector<float> samples = NoiseOfChangingLevel(4 * 640, 6);
  StreamOptions options = Windows(4, 20, 8);
  options.cached_windows = GetParam();
  options.endpoints.enabled = true;
  options.endpoints.rules[EndpointOptions::kLength].min_utterance_s = 1;
  Stream stream(Offline(), options);
  size_t size = 0;
  for (int i = 0; i < 120; ++i) {
    stream.AcceptSamples(samples.data(), samples.size());
    stream.Decode();
    stream.TakeUtterances();
    if (i == 30) size = stream.Snapshot().size();
    if (i > 30) {
      EXPECT_LT(stream.Snapshot().size(), size + 4000);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, StateSizeTest, ::testing::Bool());

// Snapshots, copies, previews and ends of utterances at random times.
TEST(StreamWindowsTest, RandomOperations) {
  constexpr uint64_t kFirstSeed = 2000;
  size_t num_utterances = 0;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const std::vector<StreamOptions> grid = AllWindows();
    StreamOptions options = testing::WithEndpoints(grid[random() % grid.size()]);
    options.endpoints.enabled = random() % 4 != 0;
    options.endpoints.skip_silence = random() % 2 == 0;
    options.endpoints.reset_encoder = random() % 2 == 0;
    options.sample_rate_hz = random() % 2 == 0 ? 16000 : 44100;
    num_utterances += testing::OperateAtRandom(Offline(), options, &random).size();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(num_utterances, 200U);
}

TEST(StreamWindowsTest, ForgedSnapshotsAreRefused) {
  const std::vector<float> samples = NoiseOfChangingLevel(40000, 8);
  for (const bool cached : {false, true}) {
    StreamOptions options = Windows(4, 8, 6);
    options.cached_windows = cached;
    Stream stream(Offline(), testing::WithEndpoints(options));
    stream.AcceptSamples(samples.data(), samples.size());
    stream.Decode();
    EXPECT_GT(testing::RefusedCounters(Offline(), stream), 100);
  }
}

// Without statistics of the window, cached windows need no feature frames of their left context.
TEST(StreamWindowsTest, FeatureFramesThatCachedWindowsKeep) {
  const testing::TemporaryFolder folder;
  const ModelArchive archive = ReadModelArchive(testing::TinyModelPath());
  nlohmann::json config = nlohmann::json::parse(archive.config_json);
  config["encoder"]["convolution"]["type"] = "symmetric";
  config["streaming"]["chunk_size"] = kWhole;
  config["streaming"]["left_context"] = kUnlimited;
  testing::WriteArchive(folder.File("m.pt"), archive.tensors,
                        {{"runnel.json", config.dump()}, {"units.txt", archive.units_text}});
  const std::shared_ptr<const Model> by_fixed_values = Model::Load(folder.File("m.pt"));
  const std::vector<float> samples = NoiseOfChangingLevel(160000, 21);
  const auto num_kept = [&](const std::shared_ptr<const Model>& model, int64_t left_context) {
    const Encoder& encoder = model->parts().encoder;
    const Matrix frames = FeaturesOf(*model, samples);
    const int64_t rate = encoder.subsampling().rate();
    EncoderState state = encoder.InitialState();
    for (int64_t at = 0; at + 12 * rate < frames.count();) {
      const int64_t count = encoder.FramesForChunk(state, 4);
      encoder.Step(
          {{&state, frames.rows().float32(at), {count, false, 2 * rate}, left_context, true}});
      at += count;
    }
    return static_cast<int64_t>(state.window.size()) / encoder.config().input_dim;
  };
  EXPECT_LT(num_kept(by_fixed_values, 100), 12);
  EXPECT_EQ(num_kept(by_fixed_values, 100), num_kept(by_fixed_values, 5));
  EXPECT_GT(num_kept(Offline(), 100), 400 - 12);
}

// While the statistics of the features are those of 2.56 s, windows are computed anew.
TEST(StreamWindowsTest, CachedWindowsOfShortAudioAreExact) {
  const std::vector<float> samples = NoiseOfChangingLevel(40000, 9);
  StreamOptions cached = Windows(8, 100, 8);
  cached.cached_windows = true;
  ExpectSame(DecodeAtOnce(samples, cached, Offline()),
             DecodeAtOnce(samples, Windows(8, 100, 8), Offline()));
}

TEST(StreamWindowsTest, APreviewResetIsAnOrdinaryStream) {
  const std::vector<float> samples = NoiseOfChangingLevel(16000, 7);
  Stream stream(Offline(), Windows(4, 8, 6));
  stream.AcceptSamples(samples.data(), 9000);
  stream.Decode();
  Stream preview = stream.Preview(2);
  EXPECT_EQ(DecodeChunks({&preview}), 1U) << "a preview is one window";
  EXPECT_TRUE(preview.IsFinal());
  preview.Reset();
  preview.AcceptSamples(samples.data(), samples.size());
  preview.Finish();
  preview.Decode();
  ExpectSame(Final(preview), DecodeAtOnce(samples, Windows(4, 8, 6), Offline()));
}

TEST(StreamWindowsTest, DefaultsOfAnOfflineModel) {
  ASSERT_TRUE(Offline()->streaming().window.has_value());
  EXPECT_EQ(Offline()->streaming().window->Name(), "C=16 M=128 R=16");
  EXPECT_FALSE(Tiny()->streaming().window.has_value());
  const auto resolved = [](const StreamOptions& options) {
    const StreamOptions chosen = Stream(Offline(), options).options();
    return StreamingSetting{chosen.chunk_size, chosen.left_context, chosen.right_context}.Name();
  };
  StreamOptions options;
  EXPECT_EQ(resolved(options), "C=16 M=128 R=16");
  options.left_context = 64;
  EXPECT_EQ(resolved(options), "C=16 M=64 R=16");
  options.left_context = kUnlimited;
  EXPECT_EQ(resolved(options), "C=full M=all");
  options = {};
  options.right_context = StreamOptions::kNoRightContext;
  EXPECT_EQ(resolved(options), "C=full M=all");
  options.right_context = 32;
  EXPECT_EQ(resolved(options), "C=16 M=128 R=32");
  options = {};
  options.chunk_size = 8;
  EXPECT_EQ(resolved(options), "C=8 M=128 R=16");
  options.left_context = 64;
  EXPECT_EQ(resolved(options), "C=8 M=64 R=16");
  options = {};
  options.chunk_size = kWhole;
  EXPECT_EQ(resolved(options), "C=full M=all");
}

TEST(StreamWindowsTest, RecordingsThatAreWholeUtterances) {
  EXPECT_EQ(LongestWholeS(*Offline(), {}), kLongestWholeS);
  EXPECT_EQ(LongestWholeS(*Tiny(), {}), std::nullopt) << "it streams";
  std::vector<StreamOptions> chosen(4);
  chosen[0].chunk_size = 8;
  chosen[1].left_context = 64;
  chosen[2].right_context = 32;
  chosen[3].cached_windows = true;
  for (const StreamOptions& options : chosen) {
    EXPECT_EQ(LongestWholeS(*Offline(), options), std::nullopt);
  }
}

TEST(StreamWindowsTest, Refusals) {
  const auto error = [](const std::shared_ptr<const Model>& model, const StreamOptions& options) {
    return ErrorMessage<std::invalid_argument>([&] { Stream(model, options); });
  };
  EXPECT_EQ(error(Tiny(), Windows(4, 8, 16)),
            "right_context is 16, expected none (-1): this model streams in chunks, such as C=4 "
            "M=8, and was not trained to read frames after them");
  EXPECT_EQ(error(Offline(), Windows(kWhole, 8, 16)),
            "right_context is 16, expected none (-1) with chunk_size=-1, the whole utterance");
  EXPECT_EQ(error(Offline(), Windows(4, kUnlimited, 16)),
            "left_context is -1, expected 0 or more with right_context: a window has a fixed size");
  EXPECT_TRUE(Contains(error(Offline(), Windows(4, 8, StreamOptions::kNoRightContext)),
                       "chunk_size is 4, expected -1, or a right_context of 0 or more: this model "
                       "needs the whole utterance"));
  StreamOptions cached = testing::Options(kWhole, kUnlimited);
  cached.cached_windows = true;
  EXPECT_EQ(error(Offline(), cached),
            "cached_windows is true, expected false without windows, which a right_context of 0 "
            "or more makes");
  cached = testing::Options(4, 8);
  cached.cached_windows = true;
  EXPECT_EQ(error(Tiny(), cached),
            "cached_windows is true, expected false: this model has no windows");
  EXPECT_TRUE(Contains(error(Offline(), Windows(0, 8, 16)), "chunk_size is 0, expected"));
  EXPECT_TRUE(Contains(error(Offline(), Windows(4, 8, -3)), "right_context is -3, expected"));
  EXPECT_TRUE(Contains(error(Tiny(), Windows(4, 8, -3)), "right_context is -3, expected"));
  EXPECT_TRUE(Contains(error(Offline(), Windows(4, 8, int64_t{1} << 40)),
                       "right_context is 1099511627776, expected"));
}

}  // namespace
}  // namespace runnel
