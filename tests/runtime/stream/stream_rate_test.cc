// Streams at another sample rate than the model's, and how many samples a chunk needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/resampler.h"
#include "frontend/sample_range.h"
#include "runtime/model/model_parts.h"
#include "runtime/stream.h"
#include "tests/support/error_message.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::DecodeAtOnce;
using testing::Describe;
using testing::ErrorMessage;
using testing::ExpectSame;
using testing::Feed;
using testing::Final;
using testing::kWhole;
using testing::NoiseOfChangingLevel;
using testing::OptionGrid;
using testing::Options;
using testing::Results;
using testing::Tiny;

const std::vector<int> kRates = {8000, 11025, 16000, 44100, 48000};

StreamOptions AtRate(StreamOptions options, int rate_hz) {
  options.sample_rate_hz = rate_hz;
  return options;
}

std::vector<float> AtModelRate(const std::vector<float>& samples, int rate_hz) {
  std::vector<float> resampled;
  Resampler resampler(rate_hz, Tiny()->sample_rate_hz());
  resampler.Process(samples.data(), samples.size(), &resampled);
  resampler.Flush(&resampled);
  return resampled;
}

TEST(StreamRateTest, IsTheResamplerAndTheModelsRate) {
  std::mt19937_64 random(1);
  for (const int rate_hz : kRates) {
    const std::vector<float> samples =
        NoiseOfChangingLevel(static_cast<size_t>(rate_hz) * 2, static_cast<uint64_t>(rate_hz));
    const std::vector<float> resampled = AtModelRate(samples, rate_hz);
    for (const StreamOptions& options : OptionGrid()) {
      SCOPED_TRACE(std::to_string(rate_hz) + " Hz, " + Describe(options));
      const Results expected = DecodeAtOnce(resampled, options);
      Stream stream(Tiny(), AtRate(options, rate_hz));
      EXPECT_EQ(stream.options().sample_rate_hz, rate_hz);
      const size_t half = 1 + random() % (samples.size() - 1);
      Stream copy = stream;
      copy.AcceptSamples(samples.data(), half);
      copy.Decode();
      stream = copy;
      Feed(&copy, {samples.begin() + static_cast<std::ptrdiff_t>(half), samples.end()}, 3000,
           &random);
      ExpectSame(Final(copy), expected);
      EXPECT_EQ(copy.num_samples(), static_cast<int64_t>(samples.size()));
      stream.Reset();
      Feed(&stream, samples, 30000, &random);
      ExpectSame(Final(stream), expected);
    }
  }
}

TEST(StreamRateTest, DefaultIsTheModels) {
  EXPECT_EQ(Stream(Tiny()).options().sample_rate_hz, 16000);
  for (const int rate_hz : {-1, 1, 999, 768001, std::numeric_limits<int>::max()}) {
    EXPECT_EQ(ErrorMessage<std::invalid_argument>(
                  [&] { Stream(Tiny(), AtRate(Options(4, 8), rate_hz)); }),
              "sample_rate_hz is " + std::to_string(rate_hz) +
                  ", expected 1000 to 768000 Hz or 0 (the model's rate)");
  }
  for (const int rate_hz : {1000, 768000}) Stream(Tiny(), AtRate(Options(4, 8), rate_hz));
}

TEST(StreamRateTest, ABadSampleChangesNothing) {
  const std::vector<float> samples = NoiseOfChangingLevel(9000, 2);
  Stream stream(Tiny(), AtRate(Options(4, 8), 8000));
  stream.AcceptSamples(samples.data(), 5000);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -101.0F}) {
    const float packet[] = {0.1F, bad, 0.1F};
    EXPECT_TRUE(
        Contains(ErrorMessage<std::invalid_argument>([&] { stream.AcceptSamples(packet, 3); }),
                 "sample 5001 is"));
    EXPECT_EQ(stream.num_samples(), 5000);
  }
  ErrorMessage<std::invalid_argument>([&] { stream.AcceptSamples(nullptr, 1); });
  // The loudest permitted sample: the filter's output is never refused.
  std::vector<float> loud;
  for (const float sample : NoiseOfChangingLevel(40000, 6)) {
    loud.push_back(sample < 0 ? -kMaxAmplitude : kMaxAmplitude);
  }
  Stream(stream).AcceptSamples(loud.data(), loud.size());
  stream.AcceptSamples(samples.data() + 5000, 4000);
  stream.Finish();
  stream.Finish();
  ErrorMessage<std::invalid_argument>([&] { stream.AcceptSamples(samples.data(), 1); });
  stream.Decode();
  ExpectSame(Final(stream), DecodeAtOnce(AtModelRate(samples, 8000), Options(4, 8)));
}

TEST(StreamRateTest, MinSamplesToChunkIsExactAtTheModelsRate) {
  const std::vector<float> samples = NoiseOfChangingLevel(40000, 3);
  for (const int64_t chunk_size : {1, 2, 4, 16}) {
    Stream stream(Tiny(), Options(chunk_size, 8));
    size_t at = 0;
    for (int chunk = 0; chunk < 3; ++chunk) {
      const auto wanted = static_cast<size_t>(stream.MinSamplesToChunk());
      ASSERT_GT(wanted, 0U);
      stream.AcceptSamples(samples.data() + at, wanted - 1);
      EXPECT_FALSE(stream.ChunkReady());
      EXPECT_EQ(stream.MinSamplesToChunk(), 1);
      stream.AcceptSamples(samples.data() + at + wanted - 1, 1);
      at += wanted;
      EXPECT_TRUE(stream.ChunkReady());
      EXPECT_EQ(stream.MinSamplesToChunk(), 0);
      EXPECT_EQ(DecodeChunks({&stream}), 1U);
    }
    stream.AcceptSamples(samples.data(), 1);
    EXPECT_GT(stream.MinSamplesToChunk(), 0);
    stream.Finish();
    EXPECT_EQ(stream.MinSamplesToChunk(), 0);
  }
}

TEST(StreamRateTest, MinSamplesToChunkIsALowerBoundAtOtherRates) {
  for (const int rate_hz : kRates) {
    const std::vector<float> samples = NoiseOfChangingLevel(static_cast<size_t>(rate_hz), 4);
    Stream stream(Tiny(), AtRate(Options(2, 8), rate_hz));
    int num_chunks = 0;
    int64_t not_before = 0;
    int64_t slack = 0;  // samples that came in vain
    for (const float sample : samples) {
      const int64_t wanted = stream.MinSamplesToChunk();
      ASSERT_GT(wanted, 0);
      not_before = std::max(not_before, stream.num_samples() + wanted);
      stream.AcceptSamples(&sample, 1);
      if (!stream.ChunkReady()) continue;
      ASSERT_GE(stream.num_samples(), not_before - (wanted == 1 ? 1 : 0)) << rate_hz;
      slack = std::max(slack, stream.num_samples() - not_before);
      ++num_chunks;
      while (DecodeChunks({&stream}) > 0) {
      }
      not_before = 0;
    }
    EXPECT_GE(num_chunks, 4) << rate_hz;
    EXPECT_LE(slack, rate_hz / 5) << rate_hz;
  }
}

TEST(StreamRateTest, NoSamplesLeadToTheChunkOfAWholeUtterance) {
  Stream stream(Tiny(), Options(kWhole, 8));
  const std::vector<float> samples = NoiseOfChangingLevel(4000, 5);
  EXPECT_EQ(stream.MinSamplesToChunk(), 0);
  stream.AcceptSamples(samples.data(), samples.size());
  EXPECT_EQ(stream.MinSamplesToChunk(), 0);
  EXPECT_FALSE(stream.ChunkReady());
  stream.Finish();
  EXPECT_TRUE(stream.ChunkReady());
}

}  // namespace
}  // namespace runnel
