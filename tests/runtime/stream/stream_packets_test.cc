// A stream's output is bit-identical to its encoder's output under the chunk mask, for any packet
// sizes and any moments of decoding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "runtime/stream.h"
#include "runtime/stream/token_times.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::DecodeAtOnce;
using testing::Describe;
using testing::ExpectSame;
using testing::Feed;
using testing::Final;
using testing::kUnlimited;
using testing::kWhole;
using testing::NoiseOfChangingLevel;
using testing::OptionGrid;
using testing::Options;
using testing::Results;
using testing::SearchByHand;
using testing::Tiny;

int64_t NumFrames(size_t num_samples) {
  return num_samples < 400 ? 0 : 1 + (static_cast<int64_t>(num_samples) - 400) / 160;
}

int64_t NumEncoderFrames(int64_t num_frames) {
  return num_frames < 7 ? 0 : ((num_frames - 1) / 2 - 1) / 2;
}

TEST(StreamPacketsTest, TinyModelSaysSomething) {
  // Otherwise equal results below would prove little.
  std::set<std::string> texts;
  for (const StreamOptions& options : OptionGrid()) {
    const Results results = DecodeAtOnce(NoiseOfChangingLevel(48000, 1), options);
    texts.insert(results.front().text);
    EXPECT_GE(results.front().text.size(), 8U) << Describe(options);
    EXPECT_GE(results.front().words.size(), 2U) << Describe(options);
  }
  EXPECT_GE(texts.size(), 10U) << "sizes must matter";
}

TEST(StreamPacketsTest, IsTheEncoderUnderTheMask) {
  const std::vector<float> samples = NoiseOfChangingLevel(50123, 2);
  const double end_ms = 40.0 * static_cast<double>(NumEncoderFrames(NumFrames(samples.size())));
  for (const StreamOptions& options : OptionGrid()) {
    SCOPED_TRACE(Describe(options));
    const TokenSequence expected = SearchByHand(samples, options);
    const std::vector<Token> times =
        TokenTimes(*Tiny(), Head::kCtc).InMilliseconds(expected.tokens, {0, end_ms});

    const Hypothesis actual = DecodeAtOnce(samples, options).front();
    EXPECT_NEAR(actual.score, expected.score, 1e-5 * std::max(1.0, std::abs(expected.score)));
    ASSERT_EQ(actual.tokens.size(), expected.tokens.size());
    for (size_t i = 0; i < expected.tokens.size(); ++i) {
      EXPECT_EQ(actual.tokens[i].id, expected.tokens[i].id);
      EXPECT_EQ(actual.tokens[i].start_ms,
                40.0 * static_cast<double>(expected.tokens[i].first_frame));
      EXPECT_EQ(actual.tokens[i].end_ms, times[i].end_ms);
      EXPECT_NEAR(actual.tokens[i].confidence, expected.tokens[i].confidence, 1e-4);
    }
  }
}

TEST(StreamPacketsTest, AnyPacketSplitGivesTheSameBits) {
  const std::vector<float> samples = NoiseOfChangingLevel(24321, 3);
  constexpr uint64_t kSeed = 31;
  std::mt19937_64 random(kSeed);
  for (const StreamOptions& options : OptionGrid()) {
    const Results expected = DecodeAtOnce(samples, options);
    for (const size_t max_packet : {37, 700, 5000, 30000}) {
      SCOPED_TRACE(::testing::Message()
                   << Describe(options) << ", packets up to " << max_packet << ", seed " << kSeed);
      Stream stream(Tiny(), options);
      Feed(&stream, samples, max_packet, &random);
      ExpectSame(Final(stream), expected);
    }
  }
}

TEST(StreamPacketsTest, PacketsOfOneSample) {
  const std::vector<float> samples = NoiseOfChangingLevel(8000, 4);
  std::mt19937_64 random(1);
  for (const StreamOptions& options :
       {Options(1, 3), Options(4, 8, SearchMethod::kPrefixBeam), Options(kWhole, kUnlimited)}) {
    SCOPED_TRACE(Describe(options));
    Stream stream(Tiny(), options);
    Feed(&stream, samples, 1, &random);
    ExpectSame(Final(stream), DecodeAtOnce(samples, options));
  }
}

TEST(StreamPacketsTest, DecodingLateOrChunkByChunkGivesTheSameBits) {
  const std::vector<float> samples = NoiseOfChangingLevel(24000, 5);
  for (const StreamOptions& options : OptionGrid()) {
    SCOPED_TRACE(Describe(options));
    Stream stream(Tiny(), options);
    stream.AcceptSamples(samples.data(), samples.size());
    int64_t chunks = 0;
    while (DecodeChunks({&stream}) == 1) {
      ++chunks;
      EXPECT_EQ(stream.num_encoder_frames(), chunks * options.chunk_size);
      stream.NBest(3);  // reading changes nothing
    }
    stream.Finish();
    const bool tail_left = stream.ChunkReady();
    EXPECT_EQ(DecodeChunks({&stream}), tail_left ? 1U : 0U);
    ExpectSame(Final(stream), DecodeAtOnce(samples, options));
  }
}

TEST(StreamPacketsTest, FrameCountIsTheOfflineOneForEveryLength) {
  std::vector<size_t> lengths = {0, 1, 159, 399};
  for (size_t frames = 1; frames <= 45; ++frames) {
    for (const size_t more : {0, 1, 159}) lengths.push_back(400 + 160 * (frames - 1) + more);
  }
  for (const size_t length : lengths) {
    const std::vector<float> samples = NoiseOfChangingLevel(length, 6);
    const int64_t expected = NumEncoderFrames(NumFrames(length));
    for (const int64_t chunk_size : {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{8}, kWhole}) {
      SCOPED_TRACE(::testing::Message() << length << " samples, C " << chunk_size);
      Stream stream(Tiny(), Options(chunk_size, 4));
      stream.AcceptSamples(samples.data(), samples.size());
      stream.Decode();
      const int64_t whole_chunks = chunk_size == kWhole ? 0 : expected / chunk_size * chunk_size;
      EXPECT_EQ(stream.num_encoder_frames(), whole_chunks);
      EXPECT_FALSE(stream.IsFinal());
      stream.Finish();
      stream.Decode();
      EXPECT_TRUE(stream.IsFinal());
      EXPECT_EQ(stream.num_encoder_frames(), expected);
      EXPECT_EQ(stream.num_samples(), static_cast<int64_t>(length));
    }
  }
}

TEST(StreamPacketsTest, TooShortForOneFrameIsAnEmptyResult) {
  for (const size_t length : {0, 1, 400, 400 + 160 * 5 + 159}) {
    const std::vector<float> samples = NoiseOfChangingLevel(length, 7);
    for (const StreamOptions& options :
         {Options(1, 0), Options(16, 64, SearchMethod::kPrefixBeam), Options(kWhole, kUnlimited)}) {
      SCOPED_TRACE(::testing::Message() << length << " samples, " << Describe(options));
      Stream stream(Tiny(), options);
      stream.AcceptSamples(samples.data(), samples.size());
      stream.Finish();
      stream.Decode();
      const Results results = Final(stream);
      ASSERT_EQ(results.size(), 1U);
      EXPECT_EQ(results[0].text, "");
      EXPECT_EQ(results[0].score, 0);
      EXPECT_TRUE(results[0].tokens.empty());
      EXPECT_TRUE(results[0].words.empty());
      EXPECT_EQ(stream.num_encoder_frames(), 0);
    }
  }
}

}  // namespace
}  // namespace runnel
