// A stream whose chunk size changes: its output depends on the sequence of sizes only.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frontend/feature_stream.h"
#include "runtime/model/model_parts.h"
#include "runtime/search/ctc_search.h"
#include "runtime/stream.h"
#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::ErrorMessage;
using testing::ExpectSame;
using testing::Final;
using testing::kWhole;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Results;
using testing::Tiny;

using Sizes = std::vector<int64_t>;

double Tolerance() { return Tiny()->is_bit_reproducible() ? 0 : testing::kBatchScoreTolerance; }

// More than the chunks of any audio below.
Sizes RandomSizes(int64_t chunk_size, std::mt19937_64* random) {
  Sizes sizes;
  for (int i = 0; i < 200; ++i) sizes.push_back(chunk_size << ((*random)() % 3));
  return sizes;
}

// All samples at once; chunk i has sizes[i] frames, and the last one what is left.
Stream DecodeInChunks(const std::vector<float>& samples, const StreamOptions& options,
                      const Sizes& sizes) {
  Stream stream(Tiny(), options);
  stream.AcceptSamples(samples.data(), samples.size());
  stream.Finish();
  for (const int64_t size : sizes) {
    stream.SetChunkSize(size);
    if (DecodeChunks({&stream}) == 0) break;
  }
  return stream;
}

std::vector<StreamOptions> SomeOptions() {
  StreamOptions endpoints = testing::WithEndpoints(Options(2, 8));
  endpoints.endpoints.skip_silence = true;
  StreamOptions telephone = Options(4, 16);
  telephone.sample_rate_hz = 8000;
  return {Options(1, 0),  Options(3, 7, SearchMethod::kPrefixBeam),
          Options(4, 16), Options(2, -1),
          endpoints,      telephone};
}

struct Features {
  std::vector<float> frames;  // (num_frames, dim)
  int64_t num_frames;
};

Features FeaturesOf(const std::vector<float>& samples) {
  FeatureStream features(Tiny()->parts().frame_extractor,
                         Tiny()->parts().config.features.sample_scale);
  features.AcceptSamples(samples.data(), samples.size());
  features.Finish();
  Features result;
  result.frames.resize(static_cast<size_t>(features.NumFramesReady() * features.dim()));
  result.num_frames =
      static_cast<int64_t>(features.PopFrames(result.frames.size(), result.frames.data()));
  return result;
}

// The encoder by hand, with a chunk of each size.
Matrix RowsInChunks(const Features& features, int64_t left_context, const Sizes& sizes) {
  const Encoder& encoder = Tiny()->parts().encoder;
  EncoderState state = encoder.InitialState();
  Matrix rows(encoder.data_type(), Tiny()->parts().config.encoder.model_dim);
  int64_t taken = 0;
  for (const int64_t size : sizes) {
    const auto chunk = encoder.NextChunk(state, size, features.num_frames - taken, true);
    if (!chunk) break;
    const float* frames = features.frames.data() + taken * Tiny()->feature_dim();
    const EncoderOutput output = encoder.Step({{&state, frames, *chunk, left_context}});
    taken += chunk->num_frames;
    const ConstRows from = output.rows.rows();
    std::memcpy(rows.AddRows(from.count).data, from.data,
                static_cast<size_t>(from.count * from.dim * BytesOf(from.type)));
  }
  return rows;
}

TEST(StreamChunkSizesTest, IsTheEncoderWithTheSameChunks) {
  const std::vector<float> samples = NoiseOfChangingLevel(50123, 2);
  const Features features = FeaturesOf(samples);
  std::mt19937_64 random(4);
  for (const StreamOptions& options : {Options(1, 3), Options(4, 16), Options(3, -1)}) {
    SCOPED_TRACE(testing::Describe(options));
    const Sizes sizes = RandomSizes(options.chunk_size, &random);
    const Matrix rows = RowsInChunks(features, options.left_context, sizes);
    const Matrix log_probs = ToFloat32(Tiny()->parts().RequireCtcHead().LogProbs(rows.rows()));
    const auto search = MakeCtcSearch(options.search, 7, 0);
    search->Advance(log_probs.rows().float32(), log_probs.count());
    const TokenSequence expected = search->NBest(1).front();
    const Hypothesis actual = Final(DecodeInChunks(samples, options, sizes)).front();
    EXPECT_NEAR(actual.score, expected.score, 1e-5 * std::max(1.0, std::abs(expected.score)));
    ASSERT_EQ(actual.tokens.size(), expected.tokens.size());
    for (size_t i = 0; i < expected.tokens.size(); ++i) {
      EXPECT_EQ(actual.tokens[i].id, expected.tokens[i].id);
      EXPECT_EQ(actual.tokens[i].frame, expected.tokens[i].first_frame);
    }
  }
}

// Before the size changes, and far after it, the rows are those of the utterance under the chunk
// mask of one size.
TEST(StreamChunkSizesTest, RowsFarFromAChangeAreThoseUnderTheMask) {
  const Features features = FeaturesOf(NoiseOfChangingLevel(200000, 2));
  const Encoder& encoder = Tiny()->parts().encoder;
  constexpr int64_t kLeftContext = 8;
  constexpr int64_t kChange = 64;  // the encoder frame with which chunks of 16 frames begin
  Sizes sizes(kChange / 4, 4);
  sizes.insert(sizes.end(), 100, 16);
  const Matrix rows = RowsInChunks(features, kLeftContext, sizes);
  const auto under_mask = [&](int64_t chunk_size) {
    return encoder.ForwardUnderMask(features.frames.data(), features.num_frames, chunk_size,
                                    kLeftContext);
  };
  const Matrix small = under_mask(4);
  const Matrix large = under_mask(16);
  const auto max_difference = [&](const Matrix& expected, int64_t begin, int64_t end) {
    float most = 0;
    for (int64_t i = begin * rows.dim(); i < end * rows.dim(); ++i) {
      most = std::max(most, std::abs(rows.rows().float32()[i] - expected.rows().float32()[i]));
    }
    return most;
  };
  ASSERT_EQ(rows.count(), large.count());
  const float tolerance = Tiny()->is_bit_reproducible() ? 0 : 1e-4F;
  // Each layer reads the frames of the chunk and of the left contexts of attention and convolution.
  const auto num_layers = static_cast<int64_t>(encoder.InitialState().layers.size());
  const int64_t settled = kChange + 16 * ((num_layers * (16 + kLeftContext + 15)) / 16 + 1);
  ASSERT_LT(settled + 16, rows.count());
  EXPECT_LE(max_difference(small, 0, kChange), tolerance);
  EXPECT_LE(max_difference(large, settled, rows.count()), tolerance);
  EXPECT_GT(max_difference(large, 0, kChange), 1e-3F);
  EXPECT_GT(max_difference(small, kChange, rows.count()), 1e-3F);
}

// Decodes a stream in packets, and may replace it by copies and restored snapshots.
Results DecodeInPackets(const std::vector<float>& samples, const StreamOptions& options,
                        const Sizes& sizes, std::mt19937_64* random) {
  Stream stream(Tiny(), options);
  size_t next = 0;
  stream.SetChunkSize(sizes[next++]);
  const auto decode = [&] {
    while (DecodeChunks({&stream}) > 0) stream.SetChunkSize(sizes[next++]);
    if ((*random)() % 3 == 0) stream = Stream::Restore(Tiny(), stream.Snapshot());
    if ((*random)() % 3 == 0) stream = Stream(stream);
  };
  for (size_t at = 0; at < samples.size();) {
    const size_t count = std::min(samples.size() - at, size_t{1} + (*random)() % 5000);
    stream.AcceptSamples(samples.data() + at, count);
    at += count;
    EXPECT_EQ(stream.chunk_size(), sizes[next - 1]);
    EXPECT_EQ(stream.options().chunk_size, options.chunk_size);
    if ((*random)() % 3 > 0) decode();
  }
  stream.Finish();
  decode();
  return Final(stream);
}

TEST(StreamChunkSizesTest, PacketsCopiesAndSnapshotsChangeNothing) {
  std::mt19937_64 random(7);
  for (const StreamOptions& options : SomeOptions()) {
    SCOPED_TRACE(testing::Describe(options));
    const std::vector<float> samples = NoiseOfChangingLevel(60000, 5);
    for (int round = 0; round < 5; ++round) {
      const Sizes sizes = RandomSizes(options.chunk_size, &random);
      const Results expected = Final(DecodeInChunks(samples, options, sizes));
      ExpectSame(DecodeInPackets(samples, options, sizes, &random), expected);
    }
  }
}

TEST(StreamChunkSizesTest, BatchesChangeNothing) {
  std::mt19937_64 random(9);
  struct One {
    std::unique_ptr<Stream> stream;
    Sizes sizes;
    size_t next;
    Results expected;
  };
  std::vector<One> all;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    for (const StreamOptions& options : SomeOptions()) {
      const std::vector<float> samples = NoiseOfChangingLevel(30000 + 1000 * seed, seed);
      const Sizes sizes = RandomSizes(options.chunk_size, &random);
      all.push_back({std::make_unique<Stream>(Tiny(), options), sizes, 0,
                     Final(DecodeInChunks(samples, options, sizes))});
      all.back().stream->AcceptSamples(samples.data(), samples.size());
      all.back().stream->Finish();
    }
  }
  size_t num_decoded = 0;
  do {
    std::vector<Stream*> batch;
    for (One& one : all) {
      if (!one.stream->ChunkReady() || random() % 2 == 0) continue;
      one.stream->SetChunkSize(one.sizes[one.next++]);
      batch.push_back(one.stream.get());
    }
    DecodeChunks(batch);
    num_decoded = static_cast<size_t>(std::count_if(
        all.begin(), all.end(), [](const One& one) { return one.stream->IsFinal(); }));
  } while (num_decoded < all.size());
  for (const One& one : all) ExpectSame(Final(*one.stream), one.expected, Tolerance());
}

TEST(StreamChunkSizesTest, TheSizeSaysHowManySamplesAChunkNeeds) {
  const std::vector<float> samples = NoiseOfChangingLevel(40000, 5);
  Stream stream(Tiny(), Options(4, 8));
  stream.AcceptSamples(samples.data(), 3000);
  for (const int64_t size : {int64_t{16}, int64_t{8}, int64_t{4}, int64_t{16}}) {
    stream.SetChunkSize(size);
    Stream other = stream;
    EXPECT_EQ(other.MinSamplesToChunk(), stream.MinSamplesTo(size));
    const auto needed = static_cast<size_t>(other.MinSamplesToChunk());
    ASSERT_GT(needed, 1U);
    other.AcceptSamples(samples.data() + 3000, needed - 1);
    EXPECT_FALSE(other.ChunkReady());
    other.AcceptSamples(samples.data() + 3000 + needed - 1, 1);
    EXPECT_TRUE(other.ChunkReady());
    other.Decode();
    EXPECT_EQ(other.num_encoder_frames(), size);
  }
  stream.AcceptSamples(samples.data() + 3000, 5000);  // a chunk of 4 and one of 8, but not of 16
  EXPECT_FALSE(stream.ChunkReady());
  stream.SetChunkSize(8);
  EXPECT_TRUE(stream.ChunkReady());
  stream.Reset();
  EXPECT_EQ(stream.chunk_size(), 4);
}

TEST(StreamChunkSizesTest, OnlyPermittedSizesAreTaken) {
  Stream stream(Tiny(), Options(4, 8));
  const auto error = [](Stream* told, int64_t size) {
    return ErrorMessage<std::invalid_argument>([&] { told->SetChunkSize(size); });
  };
  EXPECT_NE(error(&stream, 0).find("chunk_size is 0 encoder frames, expected 1 to"),
            std::string::npos);
  EXPECT_EQ(error(&stream, kWhole),
            "chunk_size is -1, expected at least 1: the stream decodes chunks");
  EXPECT_EQ(stream.chunk_size(), 4);
  Stream whole(Tiny(), Options(kWhole, -1));
  EXPECT_EQ(error(&whole, 4),
            "chunk_size is 4, expected -1: the stream decodes its whole utterance "
            "at once");
  whole.SetChunkSize(kWhole);
  EXPECT_TRUE(Tiny()->Permits({4, 8}));
  EXPECT_FALSE(Tiny()->Permits({0, 8}));
  EXPECT_FALSE(Tiny()->Permits({4, -2}));
}

}  // namespace
}  // namespace runnel
