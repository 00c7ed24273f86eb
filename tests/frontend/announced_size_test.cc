// Files that are cut off, in formats other than WAV: they are read as far as they go, and their
// header tells how long they were.
#include <gtest/gtest.h>
#include <sndfile.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/audio_reader.h"
#include "tests/frontend/audio_reader_fixture.h"
#include "tests/support/file_bytes.h"

namespace runnel {
namespace {

class AnnouncedSizeTest : public AudioReaderTest {};

constexpr int64_t kNumSamples = 20000;  // per channel

TEST_F(AnnouncedSizeTest, TheHeaderTellsHowMuchIsMissing) {
  for (const int format : {SF_FORMAT_AIFF | SF_FORMAT_PCM_16, SF_FORMAT_AIFF | SF_FORMAT_PCM_24,
                           SF_FORMAT_AIFF | SF_FORMAT_FLOAT, SF_FORMAT_AIFF | SF_FORMAT_ULAW,
                           SF_FORMAT_AU | SF_FORMAT_PCM_16, SF_FORMAT_AU | SF_FORMAT_ALAW,
                           SF_FORMAT_AU | SF_FORMAT_PCM_16 | SF_ENDIAN_LITTLE,
                           SF_FORMAT_W64 | SF_FORMAT_PCM_16, SF_FORMAT_W64 | SF_FORMAT_DOUBLE,
                           SF_FORMAT_VOC | SF_FORMAT_PCM_16, SF_FORMAT_NIST | SF_FORMAT_PCM_16,
                           SF_FORMAT_NIST | SF_FORMAT_PCM_32, SF_FORMAT_NIST | SF_FORMAT_ULAW}) {
    for (const int channels : {1, 2}) {
      SCOPED_TRACE(std::to_string(format) + ", channels " + std::to_string(channels));
      const std::string path =
          Write(Noise(static_cast<size_t>(kNumSamples * channels)), channels, 8000, format);
      AudioReader whole(path);
      EXPECT_EQ(ReadAll(&whole).size(), static_cast<size_t>(kNumSamples));
      EXPECT_EQ(whole.announced_samples(), std::nullopt);
      const std::string bytes = testing::ReadBytes(path);
      for (const size_t size : {bytes.size() / 4, bytes.size() / 2, bytes.size() - 1000}) {
        AudioReader cut(WriteRaw(bytes.substr(0, size)));
        EXPECT_LT(ReadAll(&cut).size(), static_cast<size_t>(kNumSamples));
        EXPECT_EQ(cut.announced_samples(), kNumSamples) << size;
        AudioReader piped(Pipe(bytes.substr(0, size)).path());
        EXPECT_EQ(piped.announced_samples(), kNumSamples) << size;
      }
    }
  }
}

TEST_F(AnnouncedSizeTest, OfACodecToWithinABlock) {
  for (const int format : {SF_FORMAT_AIFF | SF_FORMAT_IMA_ADPCM, SF_FORMAT_W64 | SF_FORMAT_MS_ADPCM,
                           SF_FORMAT_W64 | SF_FORMAT_GSM610}) {
    const std::string path = Write(Noise(kNumSamples), 1, 8000, format);
    const std::string bytes = testing::ReadBytes(path);
    AudioReader whole(path);
    const auto num_samples = static_cast<double>(ReadAll(&whole).size());
    EXPECT_EQ(whole.announced_samples(), std::nullopt);
    AudioReader cut(WriteRaw(bytes.substr(0, bytes.size() / 2)));
    EXPECT_LT(static_cast<double>(ReadAll(&cut).size()), 0.6 * num_samples);
    EXPECT_NEAR(static_cast<double>(cut.announced_samples().value_or(0)), num_samples, 1100);
  }
}

// Of programs that write into a pipe: the samples go on to the end of the file.
TEST_F(AnnouncedSizeTest, AHeaderMayLeaveTheLengthOpen) {
  const std::string au =
      testing::ReadBytes(Write(Noise(kNumSamples), 1, 8000, SF_FORMAT_AU | SF_FORMAT_PCM_16));
  AudioReader open_au(WriteRaw(au.substr(0, 8) + std::string(4, '\xFF') + au.substr(12, 10000)));
  EXPECT_EQ(ReadAll(&open_au).size(), (10000U + 12 - 24) / 2);
  EXPECT_EQ(open_au.announced_samples(), std::nullopt);
  const std::string aiff =
      testing::ReadBytes(Write(Noise(kNumSamples), 1, 8000, SF_FORMAT_AIFF | SF_FORMAT_PCM_16));
  const size_t size_at = aiff.find("SSND") + 4;
  AudioReader open_aiff(WriteRaw(aiff.substr(0, size_at) + std::string("\x7F\0\0\x08", 4) +
                                 aiff.substr(size_at + 4, 10000)));
  EXPECT_EQ(ReadAll(&open_aiff).size(), (10000U - 8) / 2);
  EXPECT_EQ(open_aiff.announced_samples(), std::nullopt);
}

// Chunks and blocks of other kinds stand before the samples.
TEST_F(AnnouncedSizeTest, OtherChunksArePassedOver) {
  const std::string aiff =
      testing::ReadBytes(Write(Noise(kNumSamples), 1, 8000, SF_FORMAT_AIFF | SF_FORMAT_PCM_16));
  const size_t samples_at = aiff.find("SSND");
  const std::string comment("ANNO\0\0\0\x05hello\0", 14);
  const std::string longer = aiff.substr(0, samples_at) + comment + aiff.substr(samples_at);
  AudioReader cut(WriteRaw(longer.substr(0, longer.size() / 2)));
  EXPECT_EQ(cut.announced_samples(), kNumSamples);
  const std::string voc =
      testing::ReadBytes(Write(Noise(kNumSamples), 1, 8000, SF_FORMAT_VOC | SF_FORMAT_PCM_16));
  constexpr size_t kFirstBlock = 26;
  const std::string text("\5\6\0\0hello\0", 10);
  const std::string commented = voc.substr(0, kFirstBlock) + text + voc.substr(kFirstBlock);
  AudioReader cut_voc(WriteRaw(commented.substr(0, commented.size() / 2)));
  EXPECT_EQ(cut_voc.announced_samples(), kNumSamples);
}

}  // namespace
}  // namespace runnel
