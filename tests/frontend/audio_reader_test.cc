#include "frontend/audio_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sndfile.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "frontend/media/container.h"
#include "frontend/sample_range.h"
#include "tests/frontend/audio_reader_fixture.h"
#include "tests/support/audio_files.h"

namespace runnel {
namespace {

using testing::Chunk;
using testing::LittleEndianBytes;
using testing::ReadBytes;
using ::testing::TestParamInfo;
using ::testing::Values;

// ---- Formats ----

struct Format {
  const char* name;
  int format;
  float tolerance;  // of samples in [-1, 1]; libsndfile writes them times 32767, reads them / 32768
};

void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

class AudioFormatTest : public AudioReaderTest, public ::testing::WithParamInterface<Format> {};

TEST_P(AudioFormatTest, AnyRateAndChannelCount) {
  for (const int rate_hz : {8000, 11025, 16000, 22050, 44100, 48000, 96000}) {
    for (const int channels : {1, 2, 3, 8}) {
      const std::vector<float> samples = Noise(static_cast<size_t>(channels) * 3001);
      const std::string path = Write(samples, channels, rate_hz, GetParam().format);
      const auto check = [&](const std::string& name) {
        AudioReader reader(name);
        EXPECT_EQ(reader.sample_rate_hz(), rate_hz);
        EXPECT_EQ(reader.num_channels(), channels);
        EXPECT_EQ(reader.num_samples(), 3001);
        // Of plain WAV, in which each sample has its place.
        const int type = GetParam().format & (SF_FORMAT_TYPEMASK | SF_FORMAT_ENDMASK);
        const bool is_plain = type == SF_FORMAT_WAV || type == SF_FORMAT_WAVEX;
        EXPECT_EQ(reader.announced_samples(),
                  is_plain ? std::optional<int64_t>(3001) : std::nullopt);
        const std::vector<float> mean = ReadAll(&reader);
        ASSERT_EQ(mean.size(), 3001U);
        for (size_t i = 0; i < mean.size(); ++i) {
          float sum = 0.0F;
          for (int c = 0; c < channels; ++c) {
            sum += samples[i * static_cast<size_t>(channels) + static_cast<size_t>(c)];
          }
          ASSERT_NEAR(mean[i], sum / static_cast<float>(channels), GetParam().tolerance) << i;
        }
      };
      check(path);
      if (rate_hz == 16000) {
        const std::string bytes = ReadBytes(path);
        check(Pipe(bytes).path());
        AudioReader in_memory = AudioReader::FromBytes(bytes, "bytes");
        EXPECT_EQ(in_memory.num_samples(), 3001);
        EXPECT_EQ(in_memory.num_channels(), channels);
        EXPECT_EQ(ReadAll(&in_memory), ReadFile(path));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, AudioFormatTest,
    Values(Format{"wav_8", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 2e-2F},
           Format{"wav_16", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 5e-5F},
           Format{"wav_24", SF_FORMAT_WAV | SF_FORMAT_PCM_24, 3e-7F},
           Format{"wav_32", SF_FORMAT_WAV | SF_FORMAT_PCM_32, 3e-7F},
           Format{"wav_float", SF_FORMAT_WAV | SF_FORMAT_FLOAT, 3e-7F},
           Format{"wav_double", SF_FORMAT_WAV | SF_FORMAT_DOUBLE, 3e-7F},
           Format{"wav_alaw", SF_FORMAT_WAV | SF_FORMAT_ALAW, 4e-2F},
           Format{"wav_ulaw", SF_FORMAT_WAV | SF_FORMAT_ULAW, 4e-2F},
           Format{"wav_big_endian", SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG, 5e-5F},
           Format{"extensible_8", SF_FORMAT_WAVEX | SF_FORMAT_PCM_U8, 2e-2F},
           Format{"extensible_16", SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, 5e-5F},
           Format{"extensible_24", SF_FORMAT_WAVEX | SF_FORMAT_PCM_24, 3e-7F},
           Format{"extensible_32", SF_FORMAT_WAVEX | SF_FORMAT_PCM_32, 3e-7F},
           Format{"extensible_float", SF_FORMAT_WAVEX | SF_FORMAT_FLOAT, 3e-7F},
           Format{"rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16, 5e-5F},
           Format{"flac_8", SF_FORMAT_FLAC | SF_FORMAT_PCM_S8, 2e-2F},
           Format{"flac_16", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 5e-5F},
           Format{"flac_24", SF_FORMAT_FLAC | SF_FORMAT_PCM_24, 3e-7F},
           Format{"aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 5e-5F},
           Format{"au_ulaw", SF_FORMAT_AU | SF_FORMAT_ULAW, 4e-2F},
           Format{"caf", SF_FORMAT_CAF | SF_FORMAT_PCM_24, 3e-7F},
           Format{"caf_alac", SF_FORMAT_CAF | SF_FORMAT_ALAC_16, 5e-5F},
           Format{"w64", SF_FORMAT_W64 | SF_FORMAT_FLOAT, 3e-7F}),
    [](const TestParamInfo<Format>& param) { return std::string(param.param.name); });

TEST_F(AudioReaderTest, SixteenBitSamplesAreExact) {
  std::string bytes;
  for (int value = -32768; value < 32768; value += 7) {
    bytes += LittleEndianBytes(static_cast<uint64_t>(value), 2);
  }
  const std::string path =
      WriteRaw("RIFF" + LittleEndianBytes(36 + bytes.size(), 4) + "WAVE" +
               Chunk("fmt ", LittleEndianBytes(1, 2) + LittleEndianBytes(1, 2) +
                                 LittleEndianBytes(8000, 4) + LittleEndianBytes(16000, 4) +
                                 LittleEndianBytes(2, 2) + LittleEndianBytes(16, 2)) +
               Chunk("data", bytes));
  const std::vector<float> samples = ReadFile(path);
  ASSERT_EQ(samples.size(), bytes.size() / 2);
  for (size_t i = 0; i < samples.size(); ++i) {
    ASSERT_EQ(samples[i] * 32768.0F, -32768.0F + 7.0F * static_cast<float>(i));
  }
}

TEST_F(AudioReaderTest, ChosenChannel) {
  const std::vector<float> samples = Noise(3 * 10000);
  const std::string path = Write(samples, 3, 16000, SF_FORMAT_WAV | SF_FORMAT_FLOAT);
  for (int channel = 0; channel < 3; ++channel) {
    AudioReaderOptions options;
    options.channel = channel;
    const std::vector<float> read = ReadFile(path, options);
    ASSERT_EQ(read.size(), 10000U);
    for (size_t i = 0; i < read.size(); ++i) {
      ASSERT_EQ(read[i], samples[3 * i + static_cast<size_t>(channel)]);
    }
  }
  AudioReaderOptions options;
  options.channel = 3;
  ExpectComplaint(path, "has 3 channels, expected channel 3", options);
  options.channel = -2;
  EXPECT_THROW(AudioReader(path, options), std::invalid_argument);
}

TEST_F(AudioReaderTest, BlockSizesDoNotMatter) {
  const std::string path = Write(Noise(2 * 20000), 2);
  const std::vector<float> expected = ReadFile(path);
  for (const size_t packet : {size_t{1}, size_t{333}, size_t{50000}}) {
    AudioReader reader(path);
    EXPECT_EQ(ReadAll(&reader, packet), expected);
  }
  AudioReader reader(path);
  AudioReader moved = std::move(reader);
  EXPECT_EQ(ReadAll(&moved), expected);
}

// Recorders of floating-point numbers go beyond full scale.
TEST_F(AudioReaderTest, LoudFloatSamplesAreNotClipped) {
  const std::vector<float> samples = {3.5F, -2.0F, kMaxAmplitude, -kMaxAmplitude};
  EXPECT_EQ(ReadFile(Write(samples, 1, 16000, SF_FORMAT_WAV | SF_FORMAT_FLOAT)), samples);
}

TEST_F(AudioReaderTest, NoSamplesAreNoError) {
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAVEX | SF_FORMAT_FLOAT}) {
    const std::string path = Write({}, 1, 16000, format);
    EXPECT_EQ(Complaint(path), "");
    EXPECT_EQ(ReadFile(path).size(), 0U);
    EXPECT_EQ(ReadFile(Pipe(ReadBytes(path)).path()).size(), 0U);
  }
}

TEST_F(AudioReaderTest, CutOffWavOfOtherEncodings) {
  for (const int format : {SF_FORMAT_RF64 | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM,
                           SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, SF_FORMAT_WAV | SF_FORMAT_GSM610}) {
    const std::string path = Write(Noise(20000), 1, 8000, format);
    const std::string bytes = testing::ReadBytes(path);
    AudioReader whole(path);
    const auto num_samples = static_cast<double>(ReadAll(&whole).size());
    EXPECT_EQ(whole.announced_samples(), std::nullopt);
    AudioReader cut(WriteRaw(bytes.substr(0, bytes.size() / 2)));
    EXPECT_LT(static_cast<double>(ReadAll(&cut).size()), 0.6 * num_samples);
    // To within a block.
    EXPECT_NEAR(static_cast<double>(cut.announced_samples().value_or(0)), num_samples, 1100);
  }
}

// ---- Other damage ----

TEST_F(AudioReaderTest, NotAudio) {
  ExpectComplaint(folder_.File("missing.wav"), "cannot open: No such file or directory");
  ExpectComplaint(folder_.File(""), "is a directory, expected an audio file");
  ExpectComplaint(WriteRaw(""), "is empty, expected audio");
  ExpectComplaint(WriteRaw("some text\n"), "cannot be read as audio");
  ExpectComplaint(WriteRaw(std::string(100000, '\0')), "cannot be read as audio");
  std::mt19937 random(1);
  std::string garbage(5000, '\0');
  for (char& byte : garbage) byte = static_cast<char>(random());
  ExpectComplaint(WriteRaw(garbage),
                  "expected WAV, FLAC, MP3, MP4, WebM, Ogg, AAC, AMR, MPEG-TS, AVI, FLV, WMA or "
                  "another format of libsndfile");
  ExpectComplaint(WriteRaw("\x1F\x43\xB6\x75" + std::string(1000, 'x')),
                  "is WebM or Matroska without its beginning, expected a whole recording");
  ExpectComplaint(Pipe("").path(), "is empty");
  ExpectComplaint(Pipe(garbage).path(), "cannot be read as audio");
}

TEST_F(AudioReaderTest, InputWithoutAnEndThatIsNoAudioIsNotReadOn) {
  ExpectComplaint("/dev/zero", "cannot be read as audio (Format not recognised)");
  std::string text;
  while (text.size() < 300000) text += "This is no audio, and there is much of it.\n";
  const Pipe pipe(text);
  AudioReaderOptions strict;
  strict.strict_recordings = true;
  ExpectComplaint(pipe.path(), "cannot be read as audio (Format not recognised)", strict);
  std::string next(20, ' ');
  ASSERT_EQ(::read(pipe.fd(), next.data(), next.size()), 20);
  EXPECT_EQ(next, text.substr(12, 20));
  // Otherwise frames of MPEG audio may come, but not behind more than 64 KiB.
  const Pipe lenient(text);
  ExpectComplaint(lenient.path(), "cannot be read as audio (Format not recognised)");
  ASSERT_EQ(::read(lenient.fd(), next.data(), next.size()), 20);
  EXPECT_EQ(next, text.substr(kJunkSearchBytes, 20));
}

TEST_F(AudioReaderTest, WhatIsCopiedFromAPipeIsBounded) {
  const std::vector<float> samples = Noise(100000);
  const std::string bytes = ReadBytes(Write(samples, 1, 16000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
  AudioReaderOptions options;
  options.max_spool_bytes = bytes.size();
  EXPECT_EQ(ReadFile(Pipe(bytes).path(), options).size(), samples.size());
  options.max_spool_bytes = bytes.size() - 1;
  ExpectComplaint(Pipe(bytes).path(),
                  "goes on after " + std::to_string(bytes.size() - 1) + " bytes", options);
  options.max_spool_bytes = 0;
  ExpectComplaint(Pipe(bytes).path(), "goes on after 0 bytes", options);
  // Files and WAV need no copy.
  EXPECT_EQ(ReadFile(WriteRaw(bytes), options).size(), samples.size());
  EXPECT_EQ(ReadFile(Pipe(ReadBytes(Write(samples))).path(), options).size(), samples.size());
}

// What libsndfile recognises in a file must not be refused from a pipe for its first bytes.
TEST_F(AudioReaderTest, EveryFormatOfAFileComesThroughAPipe) {
  int num_types = 0;
  sf_command(nullptr, SFC_GET_FORMAT_MAJOR_COUNT, &num_types, sizeof(num_types));
  int num_tried = 0;
  for (int type = 0; type < num_types; ++type) {
    SF_FORMAT_INFO format = {};
    format.format = type;
    sf_command(nullptr, SFC_GET_FORMAT_MAJOR, &format, sizeof(format));
    // These have no header; AudioReader refuses the last.
    if (format.format == SF_FORMAT_RAW || format.format == SF_FORMAT_SD2 ||
        format.format == SF_FORMAT_SDS) {
      continue;
    }
    SCOPED_TRACE(format.name);
    SF_INFO info = {};
    info.channels = 1;
    info.samplerate = 16000;
    for (const int samples : {SF_FORMAT_PCM_16, SF_FORMAT_VORBIS, SF_FORMAT_OPUS, SF_FORMAT_ALAW,
                              SF_FORMAT_MPEG_LAYER_III}) {
      info.format = format.format | samples;
      const bool is_mpeg_in_wav =
          samples == SF_FORMAT_MPEG_LAYER_III && format.format != SF_FORMAT_MPEG;
      if (sf_format_check(&info) == 0 || is_mpeg_in_wav) continue;  // the latter cannot be written
      const std::string path = Write(Noise(30000), 1, 16000, info.format);
      const std::vector<float> expected = ReadFile(path);
      EXPECT_GE(expected.size(), 30000U);
      EXPECT_EQ(ReadFile(Pipe(ReadBytes(path)).path()), expected);
      ++num_tried;
    }
  }
  EXPECT_GE(num_tried, 25);
  // Tags, as some programs put them before FLAC.
  const std::string flac =
      ReadBytes(Write(Noise(3000), 1, 16000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
  const std::string tags = std::string("ID3\4\0\0\0\0\x10\0", 10) + std::string(2048, '\0');
  EXPECT_EQ(ReadFile(Pipe(tags + flac).path()).size(), 3000U);
  // With a footer, and many without contents.
  const std::string footed = std::string("ID3\4\0\x10\0\0\x10\0", 10) + std::string(2048, '\0') +
                             std::string("3DI\4\0\x10\0\0\x10\0", 10);
  EXPECT_EQ(ReadFile(WriteRaw(footed + tags + footed + flac)).size(), 3000U);
  std::string many;
  for (int i = 0; i < 20000; ++i) many.append("ID3\4\0\0\0\0\0\0", 10);
  EXPECT_EQ(ReadFile(WriteRaw(many + flac)).size(), 3000U);
}

TEST_F(AudioReaderTest, SamplesOutOfRange) {
  const std::vector<float> good = Noise(2 * 9000);
  const std::vector<std::pair<float, std::string>> cases = {
      {std::numeric_limits<float>::quiet_NaN(), "nan"},
      {std::numeric_limits<float>::infinity(), "inf"},
      {-201.5F, "-"}};  // the mean of the channels is beyond 100 too
  for (const auto& [bad, text] : cases) {
    std::vector<float> samples = good;
    samples[2 * 8765 + 1] = bad;
    const std::string path = Write(samples, 2, 16000, SF_FORMAT_WAV | SF_FORMAT_FLOAT);
    ExpectComplaint(path, "sample 8765 is " + text);
    ExpectComplaint(path, ", expected samples in [-1, 1]");
    // A channel that is not read does no harm.
    AudioReaderOptions options;
    options.channel = 0;
    EXPECT_EQ(Complaint(path, options), "");
    options.channel = 1;
    ExpectComplaint(path, "sample 8765 is", options);
  }
}

// 16-bit samples that were converted to floating point without a scale.
TEST_F(AudioReaderTest, SamplesInTheRangeOf16BitIntegers) {
  std::vector<float> samples = Noise(9000);
  for (float& sample : samples) sample *= 32768;
  for (const int format : {SF_FORMAT_FLOAT, SF_FORMAT_DOUBLE}) {
    ExpectComplaint(Write(samples, 1, 16000, SF_FORMAT_WAV | format),
                    ", expected samples in [-1, 1]");
  }
}

TEST_F(AudioReaderTest, BrokenFlacIsAnError) {
  const std::vector<float> samples = Noise(50000);
  const std::string bytes = ReadBytes(Write(samples, 1, 16000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
  // Cut off anywhere, also between two of FLAC's own blocks.
  for (size_t size = 5000; size < bytes.size(); size += 4999) {
    EXPECT_NE(Complaint(WriteRaw(bytes.substr(0, size))), "") << size;
  }
  const std::string sync("\xff\xf8", 2);
  const size_t third_block = bytes.find(sync, bytes.find(sync, bytes.find(sync) + 1000) + 1000);
  ASSERT_NE(third_block, std::string::npos);
  ExpectComplaint(WriteRaw(bytes.substr(0, third_block)), "expected 50000: it is truncated");
  // A flipped bit, which the checksum reveals.
  std::string flipped = bytes;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 4);
  ExpectComplaint(WriteRaw(flipped), "is damaged");
  const Pipe pipe(flipped);
  ExpectComplaint(pipe.path(), "is damaged");
  // Silence instead of data.
  std::string hole = bytes;
  hole.replace(bytes.size() / 2, 3000, 3000, '\0');
  ExpectComplaint(WriteRaw(hole), "is damaged");
}

TEST_F(AudioReaderTest, OnlyTagsAndZerosMayStandBehindFlac) {
  std::mt19937 random(1);
  std::string garbage(5000, '\0');
  for (char& byte : garbage) byte = static_cast<char>(random());
  const std::string id3v1 = "TAGtitle" + std::string(120, '\0');
  const std::string item =
      LittleEndianBytes(4, 4) + LittleEndianBytes(0, 4) + "Title" + '\0' + "name";
  const std::string ape = item + "APETAGEX" + LittleEndianBytes(2000, 4) +
                          LittleEndianBytes(item.size() + 32, 4) + LittleEndianBytes(1, 4) +
                          std::string(12, '\0');
  // Blocks of FLAC are of 4096 samples: the last one short, and full.
  for (const size_t count : {size_t{1}, size_t{50000}, size_t{8 * 4096}}) {
    for (const int channels : {1, 2}) {
      const std::string path = Write(Noise(count * static_cast<size_t>(channels)), channels, 16000,
                                     SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
      const std::string bytes = ReadBytes(path);
      const std::vector<float> expected = ReadFile(path);
      ASSERT_EQ(expected.size(), count);
      for (const std::string& tail :
           {id3v1, std::string(3000, '\0'), std::string(400, '\0') + id3v1, ape, ape + id3v1}) {
        EXPECT_EQ(ReadFile(WriteRaw(bytes + tail)), expected);
        EXPECT_EQ(ReadFile(Pipe(bytes + tail).path()), expected);
        AudioReader in_packets(WriteRaw(bytes + tail));
        EXPECT_EQ(ReadAll(&in_packets, 4096), expected);
      }
      const std::string end = " after sample " + std::to_string(count) + ", expected ";
      for (const std::string& tail : {garbage, std::string("x"), "text" + id3v1}) {
        ExpectComplaint(WriteRaw(bytes + tail), "bytes that are not FLAC follow" + end);
        ExpectComplaint(Pipe(bytes + tail).path(), "bytes that are not FLAC follow" + end);
      }
      for (const std::string& between : {std::string(), id3v1, garbage}) {
        ExpectComplaint(WriteRaw(bytes + between + bytes),
                        "another recording (FLAC) follows" + end);
      }
      // Damage in the last block is still found.
      std::string flipped = bytes;
      flipped[flipped.size() - 4] = static_cast<char>(flipped[flipped.size() - 4] ^ 4);
      ExpectComplaint(WriteRaw(flipped + id3v1), "is damaged");
      EXPECT_NE(Complaint(WriteRaw(bytes.substr(0, bytes.size() - 3) + id3v1)), "");
    }
  }
}

TEST_F(AudioReaderTest, FlacOfUnknownLength) {
  const std::vector<float> samples = Noise(50000);
  const std::string path = Write(samples, 1, 16000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16);
  const std::vector<float> expected = ReadFile(path);
  ASSERT_EQ(expected.size(), 50000U);
  std::string bytes = ReadBytes(path);
  // The 36 bits of the number of samples, at the end of the first metadata block.
  bytes[21] = static_cast<char>(bytes[21] & 0xf0);
  bytes.replace(22, 4, 4, '\0');
  AudioReader reader(WriteRaw(bytes));
  EXPECT_EQ(reader.num_samples(), std::nullopt);
  EXPECT_EQ(ReadAll(&reader), expected);
}

TEST_F(AudioReaderTest, OtherEncodingsInAKnownContainer) {
  std::string bytes = ReadBytes(Write(Noise(1000), 1, 16000, SF_FORMAT_CAF | SF_FORMAT_PCM_16));
  ASSERT_EQ(bytes.substr(28, 4), "lpcm");
  bytes.replace(28, 4, "zzzz");
  ExpectComplaint(WriteRaw(bytes), "is CAF and holds audio of the codec zzzz, expected AAC, ");
}

// ---- Standard input ----

class StandardInputTest : public AudioReaderTest {
 protected:
  StandardInputTest() : saved_(::dup(STDIN_FILENO)) {}
  ~StandardInputTest() override {
    ::dup2(saved_, STDIN_FILENO);
    ::close(saved_);
  }

 private:
  int saved_;
};

TEST_F(StandardInputTest, PipesAndFiles) {
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16}) {
    const std::string path = Write(Noise(30000), 1, 16000, format);
    const std::vector<float> expected = ReadFile(path);
    {
      const Pipe pipe(ReadBytes(path));
      ASSERT_EQ(::dup2(pipe.fd(), STDIN_FILENO), STDIN_FILENO);
      EXPECT_EQ(ReadFile("-"), expected);
    }
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    ASSERT_EQ(::dup2(file, STDIN_FILENO), STDIN_FILENO);
    ::close(file);
    EXPECT_EQ(ReadFile("-"), expected);
  }
}

TEST_F(StandardInputTest, ErrorsNameIt) {
  const Pipe pipe("text");
  ASSERT_EQ(::dup2(pipe.fd(), STDIN_FILENO), STDIN_FILENO);
  EXPECT_EQ(Complaint("-").find("standard input: cannot be read as audio"), 0U) << Complaint("-");
}

}  // namespace
}  // namespace runnel
