#include "frontend/audio_source.h"

#include <gtest/gtest.h>
#include <sndfile.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/audio_reader.h"
#include "frontend/resampler.h"
#include "tests/support/audio_files.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

using testing::TemporaryFolder;
using testing::WriteAudio;

std::vector<float> Noise(size_t count) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-0.5F, 0.5F);
  std::vector<float> samples(count);
  for (float& sample : samples) sample = uniform(random);
  return samples;
}

std::vector<float> ReadAll(AudioSource* source, size_t packet) {
  std::vector<float> samples;
  std::vector<float> block(packet);
  while (const size_t count = source->Read(block.data(), packet)) {
    samples.insert(samples.end(), block.begin(),
                   block.begin() + static_cast<std::ptrdiff_t>(count));
    if (count < packet) break;
  }
  EXPECT_EQ(source->Read(block.data(), packet), 0U);
  return samples;
}

TEST(AudioSourceTest, TellsWhetherARecordingEndsWithin) {
  const TemporaryFolder folder;
  const std::string path = folder.File("audio.wav");
  for (const int rate_hz : {8000, 16000, 44100}) {
    const auto count = static_cast<size_t>(rate_hz) * 2;
    WriteAudio(path, Noise(count), 1, rate_hz, SF_FORMAT_WAV | SF_FORMAT_PCM_16);
    AudioSource whole(path, 16000);
    const std::vector<float> expected = ReadAll(&whole, 1000);
    const double sample_s = 1.0 / rate_hz;
    for (const double seconds : {0.0, 0.3, 2 - sample_s, 2.0, 2 + sample_s, 9.0}) {
      for (const size_t first : {0, 1, 5000}) {
        AudioSource source(path, 16000);
        std::vector<float> samples(first);
        EXPECT_EQ(source.Read(samples.data(), first), first);
        EXPECT_EQ(source.EndsWithin(seconds), seconds >= 2) << seconds << " s at " << rate_hz;
        const std::vector<float> rest = ReadAll(&source, 777);
        samples.insert(samples.end(), rest.begin(), rest.end());
        EXPECT_EQ(samples, expected);
      }
    }
  }
}

TEST(AudioSourceTest, IsReaderAndResampler) {
  const TemporaryFolder folder;
  const std::string path = folder.File("audio.wav");
  for (const int rate_hz : {8000, 16000, 22050, 44100, 48000}) {
    const size_t count = static_cast<size_t>(rate_hz) * 3 / 2 + 1;
    WriteAudio(path, Noise(2 * count), 2, rate_hz, SF_FORMAT_WAV | SF_FORMAT_PCM_16);
    std::vector<float> mono(count);
    EXPECT_EQ(AudioReader(path).Read(mono.data(), count), count);
    std::vector<float> expected;
    Resampler resampler(rate_hz, 16000);
    resampler.Process(mono.data(), count, &expected);
    resampler.Flush(&expected);

    for (const size_t packet : {1, 160, 5000, 100000}) {
      AudioSource source(path, 16000);
      EXPECT_EQ(source.rate_hz(), 16000);
      EXPECT_EQ(source.input_rate_hz(), rate_hz);
      EXPECT_EQ(source.num_channels(), 2);
      EXPECT_EQ(source.seconds_read(), 0.0);
      const double duration_s = static_cast<double>(count) / rate_hz;
      ASSERT_TRUE(source.duration_s().has_value());
      EXPECT_DOUBLE_EQ(*source.duration_s(), duration_s);
      EXPECT_EQ(ReadAll(&source, packet), expected) << rate_hz << " Hz by " << packet;
      EXPECT_DOUBLE_EQ(source.seconds_read(), duration_s);
    }
    AudioSource in_memory(AudioReader::FromBytes(testing::ReadBytes(path), "body"), 16000);
    EXPECT_EQ(ReadAll(&in_memory, 1000), expected);
  }
}

TEST(AudioSourceTest, ChannelAndErrorsAreTheReaders) {
  const TemporaryFolder folder;
  const std::string path = folder.File("audio.wav");
  WriteAudio(path, {0.5F, -0.25F, 0.5F, -0.25F}, 2, 16000, SF_FORMAT_WAV | SF_FORMAT_PCM_16);
  AudioReaderOptions options;
  options.channel = 1;
  AudioSource source(path, 16000, options);
  EXPECT_EQ(ReadAll(&source, 10), (std::vector<float>{-0.25F, -0.25F}));
  EXPECT_THROW(AudioSource(folder.File("missing.wav"), 16000), std::runtime_error);
  EXPECT_THROW(AudioSource(path, 0), std::invalid_argument);
}

}  // namespace
}  // namespace runnel
