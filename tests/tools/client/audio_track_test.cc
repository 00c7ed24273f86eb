#include "tools/client/audio_track.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace runnel::client {
namespace {

TEST(AudioTrackTest, SlicesOfAnySizeAreTheWhole) {
  const unsigned seed = 1;
  std::mt19937 random(seed);
  for (const SampleEncoding encoding : {SampleEncoding::kPcm16, SampleEncoding::kFloat32}) {
    AudioTrack track(16000, encoding);
    std::string whole;
    std::vector<AudioSlice> firsts;
    for (int i = 0; i < 200; ++i) {
      std::string block(static_cast<size_t>(SampleSize(encoding)) * (random() % 30), '\0');
      for (char& byte : block) byte = static_cast<char>(random());
      whole += block;
      track.Append(block);
      if (track.num_samples() > 0) firsts.push_back(track.Slice(0, 1));
    }
    EXPECT_EQ(track.num_samples() * SampleSize(encoding), static_cast<int64_t>(whole.size()));
    std::string joined;
    for (int64_t sample = 0; sample < track.num_samples();) {
      const AudioSlice slice = track.Slice(sample, 1 + static_cast<int64_t>(random() % 40));
      ASSERT_GT(slice.num_samples, 0);
      joined.append(static_cast<const char*>(slice.data), slice.num_bytes);
      sample += slice.num_samples;
    }
    EXPECT_EQ(joined, whole) << "seed " << seed;
    EXPECT_EQ(track.Slice(track.num_samples(), 1).num_samples, 0);
    // Appended bytes did not move.
    for (const AudioSlice& first : firsts) EXPECT_EQ(first.data, firsts[0].data);
  }
}

TEST(AudioTrackTest, SixteenBitSamplesComeOutAsTheyWere) {
  std::vector<float> samples;
  std::string expected;
  for (int value = -32768; value <= 32767; ++value) {
    samples.push_back(static_cast<float>(value) / 32768.0F);
    expected.push_back(static_cast<char>(value & 0xFF));
    expected.push_back(static_cast<char>(value >> 8 & 0xFF));
  }
  EXPECT_EQ(EncodeSamples(samples.data(), samples.size(), SampleEncoding::kPcm16), expected);
}

TEST(AudioTrackTest, LoudSamplesAreClipped) {
  const std::vector<float> samples = {1.0F, 7.0F, -7.0F};
  EXPECT_EQ(EncodeSamples(samples.data(), samples.size(), SampleEncoding::kPcm16),
            std::string("\xFF\x7F\xFF\x7F\x00\x80", 6));
}

}  // namespace
}  // namespace runnel::client
