// Silence that is not computed: what is skipped, and that it depends on the audio only.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "runtime/stream.h"
#include "tests/support/random_audio.h"
#include "tests/support/tiny_streams.h"

namespace runnel {
namespace {

using testing::Append;
using testing::Describe;
using testing::ExpectSameUtterances;
using testing::kUnlimited;
using testing::NoiseOfChangingLevel;
using testing::Options;
using testing::Tiny;
using testing::UtterancesOf;
using testing::WithEndpoints;

// Noise of changing level, and in turns with it every 2.5 s weak noise of one level.
std::vector<float> NoiseWithPauses(size_t num_samples, uint64_t seed) {
  std::vector<float> samples = NoiseOfChangingLevel(num_samples, seed);
  std::mt19937_64 random(seed);
  std::normal_distribution<float> weak(0, 1e-4F);
  for (size_t i = 0; i < num_samples; ++i) {
    if (i / 40000 % 2 == 1) samples[i] = weak(random);
  }
  return samples;
}

// Silence is what the blank's probability says: nearly every frame with this threshold.
StreamOptions Skipping(StreamOptions options) {
  options = WithEndpoints(options, 0.01);
  options.endpoints.skip_silence = true;
  return options;
}

TEST(SkipSilenceTest, SkippedSilenceIsNotComputed) {
  const std::vector<float> samples = NoiseWithPauses(320000, 14);
  const auto num_chunks = [&](const StreamOptions& options) {
    Stream stream(Tiny(), options);
    size_t count = 0;
    for (size_t at = 0; at < samples.size(); at += 3200) {
      stream.AcceptSamples(samples.data() + at, 3200);
      while (DecodeChunks({&stream}) > 0) ++count;
    }
    return count;
  };
  StreamOptions options = Skipping(Options(4, 8));
  const size_t skipping = num_chunks(options);
  options.endpoints.skip_silence = false;
  EXPECT_LT(skipping, num_chunks(options) * 7 / 10);
  EXPECT_GT(skipping, num_chunks(options) * 3 / 10);
}

TEST(SkipSilenceTest, SkippingDependsOnTheAudioOnly) {
  constexpr uint64_t kSeed = 151;
  std::mt19937_64 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  for (StreamOptions options :
       {Skipping(Options(4, 8)), Skipping(Options(16, kUnlimited, SearchMethod::kPrefixBeam)),
        Skipping(Options(1, 3))}) {
    for (const int sample_rate_hz : {16000, 8000}) {
      options.sample_rate_hz = sample_rate_hz;
      SCOPED_TRACE(Describe(options) + ", rate " + std::to_string(sample_rate_hz));
      const std::vector<float> samples = NoiseWithPauses(200000, random());
      const std::vector<Utterance> expected = UtterancesOf(samples, options);
      ASSERT_GE(expected.size(), 3U);
      Stream stream(Tiny(), options);
      std::vector<Utterance> taken;
      for (size_t at = 0; at < samples.size();) {
        const size_t count = std::min(samples.size() - at, 1 + random() % 9000);
        stream.AcceptSamples(samples.data() + at, count);
        at += count;
        if (random() % 2 == 0) stream = Stream::Restore(Tiny(), stream.Snapshot());
        while (DecodeChunks({&stream}) > 0) {
          if (random() % 4 == 0) stream = Stream::Restore(Tiny(), stream.Snapshot());
        }
        Append(&taken, stream.TakeUtterances());
      }
      stream.Finish();
      stream.Decode();
      Append(&taken, stream.TakeUtterances());
      ExpectSameUtterances(taken, expected);
    }
  }
}

TEST(SkipSilenceTest, AfterSkippedSilenceTheStreamIsLikeANewOne) {
  // One pause. What follows equals a new stream that begins shortly before the sound does.
  std::vector<float> samples = NoiseWithPauses(120000, 16);
  const StreamOptions options = Skipping(Options(4, kUnlimited));
  const std::vector<Utterance> all = UtterancesOf(samples, options);
  const auto first = std::find_if(
      all.begin(), all.end(), [](const Utterance& utterance) { return utterance.start_ms > 4000; });
  ASSERT_NE(first, all.end());
  ASSERT_GT(first, all.begin());
  // Encoder frames of 640 samples; the sound begins after 5 s. Some beginning gives the same text
  // at the same times.
  bool is_like_a_new_one = false;
  for (int64_t frame = 105; frame <= 125; ++frame) {
    const std::vector<Utterance> fresh =
        UtterancesOf({samples.begin() + 640 * frame, samples.end()}, options);
    const double shift = 40.0 * static_cast<double>(frame);
    is_like_a_new_one = is_like_a_new_one || (fresh[0].nbest[0].text == first->nbest[0].text &&
                                              fresh[0].start_ms + shift == first->start_ms &&
                                              fresh[0].nbest[0].score == first->nbest[0].score);
  }
  EXPECT_TRUE(is_like_a_new_one);
}

}  // namespace
}  // namespace runnel
