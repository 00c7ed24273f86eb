// Audio files that are bytes in memory: AudioReader::FromBytes and what servers ask of it.
#include <gtest/gtest.h>
#include <sndfile.h>

#include <stdexcept>
#include <string>
#include <thread>
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

// libsndfile keeps the reason of a failure for all threads together.
TEST_F(AudioReaderTest, ThreadsGetTheirOwnReasons) {
  const std::string flac =
      ReadBytes(Write(Noise(9000), 1, 16000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
  const std::string wav = ReadBytes(Write(Noise(9000)));
  std::string odd_bits = wav;
  odd_bits[34] = 77;
  const auto complaint = [](const std::string& bytes) -> std::string {
    try {
      AudioReader::FromBytes(bytes, "bytes");
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  std::vector<std::thread> threads;
  for (const std::string& bytes :
       {std::string(40, 'x'), flac, flac.substr(0, 20), wav.substr(0, 20), odd_bits}) {
    const std::string alone = complaint(bytes);
    EXPECT_EQ(alone.empty(), bytes == flac);
    threads.emplace_back([&complaint, bytes, alone] {
      for (int i = 0; i < 300; ++i) ASSERT_EQ(complaint(bytes), alone);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(AudioReaderTest, BytesMayGoOnceTheyAreGiven) {
  const std::string path = Write(Noise(9000), 1, 16000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  std::string bytes = ReadBytes(path);
  AudioReader reader = AudioReader::FromBytes(bytes, "body");
  bytes.assign(bytes.size(), 'x');
  EXPECT_EQ(ReadAll(&reader), ReadFile(path));
}

TEST_F(AudioReaderTest, OnlyCommonFormatsWhenAsked) {
  AudioReaderOptions options;
  options.only_common_formats = true;
  const std::string id3 = std::string("ID3\4\0\0\0\0\x10\0", 10) + std::string(2048, '\0');
  const auto can_be_written = [](int format) {
    SF_INFO info = {};
    info.channels = 1;
    info.samplerate = 16000;
    info.format = format;
    return sf_format_check(&info) != 0;
  };
  for (const int format :
       {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAVEX | SF_FORMAT_PCM_16,
        SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, SF_FORMAT_WAV | SF_FORMAT_GSM610,
        SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG, SF_FORMAT_RF64 | SF_FORMAT_PCM_16,
        SF_FORMAT_W64 | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
        SF_FORMAT_OGG | SF_FORMAT_OPUS, SF_FORMAT_OGG | SF_FORMAT_VORBIS,
        SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, SF_FORMAT_AIFF | SF_FORMAT_PCM_16,
        SF_FORMAT_AIFF | SF_FORMAT_FLOAT, SF_FORMAT_AU | SF_FORMAT_ULAW,
        SF_FORMAT_AU | SF_FORMAT_PCM_16 | SF_ENDIAN_LITTLE, SF_FORMAT_CAF | SF_FORMAT_PCM_16,
        SF_FORMAT_NIST | SF_FORMAT_PCM_16, SF_FORMAT_VOC | SF_FORMAT_PCM_16}) {
    if (!can_be_written(format)) continue;
    const std::string path = Write(Noise(3000), 1, 16000, format);
    EXPECT_GE(ReadFile(path, options).size(), 3000U) << format;
    EXPECT_EQ(ReadFile(path, options), ReadFile(path));
    EXPECT_EQ(Complaint(WriteRaw(id3 + ReadBytes(path)), options),
              Complaint(WriteRaw(id3 + ReadBytes(path))));
  }
  for (const int format : {SF_FORMAT_SVX | SF_FORMAT_PCM_16, SF_FORMAT_PAF | SF_FORMAT_PCM_16,
                           SF_FORMAT_IRCAM | SF_FORMAT_PCM_16, SF_FORMAT_PVF | SF_FORMAT_PCM_16,
                           SF_FORMAT_HTK | SF_FORMAT_PCM_16, SF_FORMAT_AVR | SF_FORMAT_PCM_16,
                           SF_FORMAT_MAT4 | SF_FORMAT_PCM_16, SF_FORMAT_MAT5 | SF_FORMAT_PCM_16,
                           SF_FORMAT_MPC2K | SF_FORMAT_PCM_16}) {
    const std::string path = Write(Noise(3000), 1, 16000, format);
    EXPECT_GE(ReadFile(path).size(), 3000U) << format;
    ExpectComplaint(path, "is in a format that is not accepted here, expected WAV, FLAC", options);
    ExpectComplaint(WriteRaw(id3 + ReadBytes(path)), "is in a format that", options);
    ExpectComplaint(WriteRaw(id3 + id3 + ReadBytes(path)), "is in a format that", options);
  }
  for (const std::string& bytes :
       {std::string("RIFF\1\0\0\0AVI "), std::string("RIFF"), id3, std::string(20, 'x')}) {
    ExpectComplaint(WriteRaw(bytes), "is in a format that is not accepted here", options);
  }
  ExpectComplaint(WriteRaw("OggS"), "is Ogg and cannot be opened", options);
  ExpectComplaint(WriteRaw(""), "is empty", options);
}

TEST_F(AudioReaderTest, SampleDumpsAreRefused) {
  const std::string path = Write(Noise(3000), 1, 16000, SF_FORMAT_SDS | SF_FORMAT_PCM_16);
  const std::string id3 = std::string("ID3\4\0\0\0\0\x10\0", 10) + std::string(2048, '\0');
  ExpectComplaint(path, "is a MIDI sample dump");
  ExpectComplaint(Pipe(ReadBytes(path)).path(), "is a MIDI sample dump");
  ExpectComplaint(WriteRaw(id3 + ReadBytes(path)), "is a MIDI sample dump");
  ExpectComplaint(WriteRaw(id3 + id3 + ReadBytes(path)), "is a MIDI sample dump");
}

}  // namespace
}  // namespace runnel
