// Audio files that are bytes in memory: AudioReader::FromBytes and what servers ask of it.
#include <gtest/gtest.h>
#include <sndfile.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/audio_reader.h"
#include "tests/frontend/audio_reader_fixture.h"
#include "tests/support/file_bytes.h"

namespace runnel {
namespace {

using testing::ReadBytes;

// Good and damaged files alike: the samples, or the reason, are those of the file.
TEST_F(AudioReaderTest, BytesAreReadAsTheirFileIs) {
  const std::string wav = ReadBytes(Write(Noise(9000)));
  const std::string flac =
      ReadBytes(Write(Noise(9000), 1, 16000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
  std::string flipped = flac;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 4);
  std::string unknown_length = wav;
  unknown_length.replace(40, 4, 4, '\0');
  for (const std::string& bytes :
       {wav, flac, flipped, unknown_length, wav.substr(0, 10000), flac.substr(0, 10000),
        wav.substr(0, 44), wav.substr(0, 30), std::string(), std::string("text")}) {
    const std::string path = WriteRaw(bytes);
    std::string complaint;
    std::vector<float> samples;
    try {
      AudioReader reader = AudioReader::FromBytes(bytes, path);
      samples = ReadAll(&reader);
    } catch (const std::runtime_error& error) {
      complaint = error.what();
    }
    EXPECT_EQ(complaint, Complaint(path));
    EXPECT_EQ(samples, complaint.empty() ? ReadFile(path) : std::vector<float>());
  }
}

TEST_F(AudioReaderTest, BytesMayGoOnceTheyAreGiven) {
  const std::string path = Write(Noise(9000), 1, 16000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  std::string bytes = ReadBytes(path);
  AudioReader reader = AudioReader::FromBytes(bytes, "body");
  bytes.assign(bytes.size(), 'x');
  EXPECT_EQ(ReadAll(&reader), ReadFile(path));
}

}  // namespace
}  // namespace runnel
