#include "tools/client/audio_track.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/audio_files.h"
#include "tests/support/temporary_folder.h"

namespace runnel::client {
namespace {

TEST(AudioTrackTest, SlicesOfAnySizeAreTheWhole) {
  const unsigned seed = 1;
  std::mt19937 random(seed);
  AudioTrack track(16000);
  std::vector<float> whole;
  std::vector<AudioSlice> firsts;
  for (int i = 0; i < 200; ++i) {
    std::vector<float> block(random() % 30);
    for (float& sample : block) sample = static_cast<float>(random());
    whole.insert(whole.end(), block.begin(), block.end());
    track.Append(block);
    if (track.num_samples() > 0) firsts.push_back(track.Slice(0, 1));
  }
  EXPECT_EQ(track.num_samples(), static_cast<int64_t>(whole.size()));
  std::vector<float> joined;
  while (static_cast<int64_t>(joined.size()) < track.num_samples()) {
    const AudioSlice slice =
        track.Slice(static_cast<int64_t>(joined.size()), 1 + static_cast<int64_t>(random() % 40));
    ASSERT_GT(slice.num_samples, 0);
    joined.insert(joined.end(), slice.samples, slice.samples + slice.num_samples);
  }
  EXPECT_EQ(joined, whole) << "seed " << seed;
  EXPECT_EQ(track.Slice(track.num_samples(), 1).num_samples, 0);
  EXPECT_EQ(track.Slice(track.num_samples() + 1, 1).num_samples, 0);
  // Appended samples did not move.
  for (const AudioSlice& first : firsts) EXPECT_EQ(first.samples, firsts[0].samples);
}

TEST(AudioTrackTest, RateOfARecording) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("a.wav");
  testing::WriteAudio(path, std::vector<float>(1000), 1, 11025, SF_FORMAT_WAV | SF_FORMAT_PCM_16);
  std::vector<std::string> warnings;
  const auto read = [&](int sample_rate_hz, SampleEncoding encoding) {
    return ReadTrack(path, sample_rate_hz, encoding, &warnings);
  };
  EXPECT_EQ(read(0, SampleEncoding::kPcm16)->sample_rate_hz(), 11025);
  EXPECT_EQ(read(0, SampleEncoding::kPcm16)->num_samples(), 1000);
  EXPECT_EQ(read(16000, SampleEncoding::kMulaw)->sample_rate_hz(), 16000);
  EXPECT_EQ(read(0, SampleEncoding::kOpus)->sample_rate_hz(), 12000);
  EXPECT_EQ(read(8000, SampleEncoding::kOpus)->sample_rate_hz(), 8000);
  EXPECT_TRUE(warnings.empty());
  testing::WriteAudio(path, {}, 1, 11025, SF_FORMAT_WAV | SF_FORMAT_PCM_16);
  EXPECT_EQ(read(0, SampleEncoding::kPcm16)->num_samples(), 0);
  EXPECT_EQ(warnings, std::vector<std::string>{path + ": has no samples"});
}

}  // namespace
}  // namespace runnel::client
