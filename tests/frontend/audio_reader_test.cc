#include "frontend/audio_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sndfile.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <optional>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/audio_files.h"

namespace runnel {
namespace {

using testing::TestParamInfo;
using testing::TestWithParam;
using testing::Values;

std::vector<float> Noise(std::size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-0.9F, 0.9F);
  std::vector<float> samples(count);
  for (float& sample : samples) sample = uniform(random);
  return samples;
}

// Everything the reader gives, asked for in `packet` samples at a time.
std::vector<float> ReadAll(AudioReader* reader, std::size_t packet = 1000) {
  std::vector<float> samples;
  std::size_t count = 0;
  do {
    samples.resize(samples.size() + packet);
    count = reader->Read(samples.data() + samples.size() - packet, packet);
    samples.resize(samples.size() - packet + count);
  } while (count == packet);
  float none = 0.0F;
  EXPECT_EQ(reader->Read(&none, 1), 0U);
  return samples;
}

std::vector<float> ReadFile(const std::string& path, const AudioReaderOptions& options = {}) {
  AudioReader reader(path, options);
  return ReadAll(&reader);
}

// The message of the std::runtime_error that opening or reading the file ends with; "" if it works.
std::string Complaint(const std::string& path, const AudioReaderOptions& options = {}) {
  try {
    ReadFile(path, options);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

void ExpectComplaint(const std::string& path, const std::string& part,
                     const AudioReaderOptions& options = {}) {
  const std::string complaint = Complaint(path, options);
  EXPECT_EQ(complaint.find(path + ": "), 0U) << complaint;
  EXPECT_NE(complaint.find(part), std::string::npos) << complaint;
  EXPECT_EQ(complaint.find('\n'), std::string::npos) << complaint;
}

// The read end of a pipe into which a thread writes `bytes`.
class Pipe {
 public:
  explicit Pipe(std::string bytes) : bytes_(std::move(bytes)) {
    EXPECT_EQ(::pipe(ends_), 0);
    // The write end is not blocked for ever by a reader that stops early: the read end is closed.
    writer_ = std::thread([this] {
      std::size_t done = 0;
      while (done < bytes_.size()) {
        const ssize_t count = ::write(ends_[1], bytes_.data() + done, bytes_.size() - done);
        if (count <= 0) break;
        done += static_cast<std::size_t>(count);
      }
      ::close(ends_[1]);
    });
  }
  ~Pipe() {
    ::close(ends_[0]);
    writer_.join();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  std::string path() const { return "/dev/fd/" + std::to_string(ends_[0]); }
  int fd() const { return ends_[0]; }

 private:
  std::string bytes_;
  int ends_[2] = {-1, -1};
  std::thread writer_;
};

class AudioReaderTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { ::signal(SIGPIPE, SIG_IGN); }

  // Writes `samples` with libsndfile and returns the path.
  std::string Write(const std::vector<float>& samples, int channels = 1, int rate_hz = 16000,
                    int format = SF_FORMAT_WAV | SF_FORMAT_PCM_16) {
    const std::string path = folder_.Path("audio");
    WriteAudio(path, samples, channels, rate_hz, format);
    return path;
  }

  std::string WriteRaw(const std::string& bytes) {
    const std::string path = folder_.Path("raw");
    WriteBytes(path, bytes);
    return path;
  }

  TemporaryFolder folder_;
};

// ---- Formats ----

struct Format {
  const char* name;
  int format;
  float tolerance;  // of samples in [-1, 1]; libsndfile writes them times 32767, reads them / 32768
};

void PrintTo(const Format& format, std::ostream* out) { *out << format.name; }

class AudioFormatTest : public AudioReaderTest, public testing::WithParamInterface<Format> {};

TEST_P(AudioFormatTest, AnyRateAndChannelCount) {
  for (const int rate_hz : {8000, 11025, 16000, 22050, 44100, 48000, 96000}) {
    for (const int channels : {1, 2, 3, 8}) {
      const std::vector<float> samples = Noise(static_cast<std::size_t>(channels) * 3001);
      const std::string path = Write(samples, channels, rate_hz, GetParam().format);
      const auto check = [&](const std::string& name) {
        AudioReader reader(name);
        EXPECT_EQ(reader.sample_rate_hz(), rate_hz);
        EXPECT_EQ(reader.num_channels(), channels);
        EXPECT_EQ(reader.num_samples(), 3001);
        const std::vector<float> mean = ReadAll(&reader);
        ASSERT_EQ(mean.size(), 3001U);
        for (std::size_t i = 0; i < mean.size(); ++i) {
          float sum = 0.0F;
          for (int c = 0; c < channels; ++c) {
            sum += samples[i * static_cast<std::size_t>(channels) + static_cast<std::size_t>(c)];
          }
          ASSERT_NEAR(mean[i], sum / static_cast<float>(channels), GetParam().tolerance) << i;
        }
      };
      check(path);
      if (rate_hz == 16000) check(Pipe(ReadBytes(path)).path());
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
           Format{"aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 5e-5F}),
    [](const TestParamInfo<Format>& param) { return std::string(param.param.name); });

TEST_F(AudioReaderTest, SixteenBitSamplesAreExact) {
  std::string bytes;
  for (int value = -32768; value < 32768; value += 7) {
    bytes += LittleEndianBytes(static_cast<std::uint64_t>(value), 2);
  }
  const std::string path =
      WriteRaw("RIFF" + LittleEndianBytes(36 + bytes.size(), 4) + "WAVE" +
               Chunk("fmt ", LittleEndianBytes(1, 2) + LittleEndianBytes(1, 2) +
                                 LittleEndianBytes(8000, 4) + LittleEndianBytes(16000, 4) +
                                 LittleEndianBytes(2, 2) + LittleEndianBytes(16, 2)) +
               Chunk("data", bytes));
  const std::vector<float> samples = ReadFile(path);
  ASSERT_EQ(samples.size(), bytes.size() / 2);
  for (std::size_t i = 0; i < samples.size(); ++i) {
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
    for (std::size_t i = 0; i < read.size(); ++i) {
      ASSERT_EQ(read[i], samples[3 * i + static_cast<std::size_t>(channel)]);
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
  for (const std::size_t packet : {std::size_t{1}, std::size_t{333}, std::size_t{50000}}) {
    AudioReader reader(path);
    EXPECT_EQ(ReadAll(&reader, packet), expected);
  }
  AudioReader reader(path);
  AudioReader moved = std::move(reader);
  EXPECT_EQ(ReadAll(&moved), expected);
}

TEST_F(AudioReaderTest, LoudFloatSamplesAreNotClipped) {
  const std::vector<float> samples = {3.5F, -2.0F, 3e38F, -3e38F};
  EXPECT_EQ(ReadFile(Write(samples, 1, 16000, SF_FORMAT_WAV | SF_FORMAT_FLOAT)), samples);
  // The mean of values whose sum overflows.
  EXPECT_EQ(ReadFile(Write({3e38F, 3e38F}, 2, 16000, SF_FORMAT_WAV | SF_FORMAT_FLOAT)),
            std::vector<float>{3e38F});
}

TEST_F(AudioReaderTest, NoSamplesAreNoError) {
  for (const int format : {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAVEX | SF_FORMAT_FLOAT}) {
    const std::string path = Write({}, 1, 16000, format);
    EXPECT_EQ(Complaint(path), "");
    EXPECT_EQ(ReadFile(path).size(), 0U);
    EXPECT_EQ(ReadFile(Pipe(ReadBytes(path)).path()).size(), 0U);
  }
}

// ---- Hand-made WAV headers ----

// A WAV file of 16-bit samples at 8 kHz, part by part.
struct Wav {
  std::string before;  // chunks before "fmt "
  std::string format = LittleEndianBytes(1, 2) + LittleEndianBytes(1, 2) +
                       LittleEndianBytes(8000, 4) + LittleEndianBytes(16000, 4) +
                       LittleEndianBytes(2, 2) + LittleEndianBytes(16, 2);
  std::string between;  // chunks before "data"
  std::string data;
  std::string after;  // chunks after "data"
  std::optional<std::uint64_t> riff_size;
  std::optional<std::uint64_t> data_size;

  std::string Bytes() const {
    std::string body = "WAVE" + before + Chunk("fmt ", format) + between;
    body += "data" + LittleEndianBytes(data_size.value_or(data.size()), 4) + data;
    body += std::string(data.size() % 2, '\0') + after;
    return "RIFF" + LittleEndianBytes(riff_size.value_or(body.size()), 4) + body;
  }
};

class WavHeaderTest : public AudioReaderTest {
 protected:
  WavHeaderTest() {
    for (int i = 0; i < 5000; ++i) {
      wav_.data += LittleEndianBytes(static_cast<std::uint64_t>(i), 2);
      expected_.push_back(static_cast<float>(i) / 32768.0F);
    }
  }

  // As a file and through a pipe.
  void ExpectSamples(const std::vector<float>& expected) {
    EXPECT_EQ(ReadFile(WriteRaw(wav_.Bytes())), expected);
    EXPECT_EQ(ReadFile(Pipe(wav_.Bytes()).path()), expected);
  }

  Wav wav_;
  std::vector<float> expected_;
};

TEST_F(WavHeaderTest, Plain) { ExpectSamples(expected_); }

TEST_F(WavHeaderTest, OtherChunksAreSkipped) {
  wav_.before = Chunk("JUNK", std::string(28, '\0'));
  wav_.between = Chunk("LIST", "INFOISFT" + LittleEndianBytes(4, 4) + "test") +
                 Chunk("odd ", "abc") + Chunk("big ", std::string(300000, 'x'));
  wav_.after = Chunk("LIST", "INFOICMT" + LittleEndianBytes(4, 4) + "late") +
               Chunk("id3 ", std::string(1001, 'y'));
  ExpectSamples(expected_);
}

TEST_F(WavHeaderTest, Extensible) {
  wav_.format[0] = static_cast<char>(0xfe);
  wav_.format[1] = static_cast<char>(0xff);
  wav_.format += LittleEndianBytes(22, 2) + LittleEndianBytes(16, 2) + LittleEndianBytes(4, 4) +
                 LittleEndianBytes(1, 2) +
                 std::string("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71", 14);
  ExpectSamples(expected_);
}

TEST_F(WavHeaderTest, LengthLeftOpen) {
  // What recorders leave that are killed or write into a pipe.
  for (const std::uint64_t riff_size : {0ULL, 36ULL, 0xffffffffULL}) {
    for (const std::uint64_t data_size : {0ULL, 0xffffffffULL}) {
      wav_.riff_size = riff_size;
      wav_.data_size = data_size;
      ExpectSamples(expected_);
    }
  }
  for (const std::uint64_t data_size : {0x7ffff000ULL, 0x7fffffd8ULL, 0x80000000ULL}) {
    wav_.riff_size = data_size + 36;
    wav_.data_size = data_size;
    ExpectSamples(expected_);
    EXPECT_EQ(AudioReader(Pipe(wav_.Bytes()).path()).num_samples(), std::nullopt);
    EXPECT_EQ(AudioReader(WriteRaw(wav_.Bytes())).num_samples(), 5000);
  }
}

TEST_F(WavHeaderTest, NoSamplesButTrailingChunks) {
  wav_.data.clear();
  wav_.after = Chunk("LIST", "INFOICMT" + LittleEndianBytes(4, 4) + "late");
  ExpectSamples({});
}

TEST_F(WavHeaderTest, TruncatedFileIsReadAsFarAsItGoes) {
  const std::string bytes = wav_.Bytes();
  for (const std::size_t size : {std::size_t{44}, std::size_t{45}, std::size_t{46}, std::size_t{47},
                                 std::size_t{1001}, bytes.size() - 1}) {
    const std::vector<float> part(expected_.begin(),
                                  expected_.begin() + static_cast<std::ptrdiff_t>((size - 44) / 2));
    EXPECT_EQ(ReadFile(WriteRaw(bytes.substr(0, size))), part) << size;
    EXPECT_EQ(ReadFile(Pipe(bytes.substr(0, size)).path()), part) << size;
  }
}

TEST_F(WavHeaderTest, TruncatedHeaderIsAnError) {
  const std::string bytes = wav_.Bytes();
  for (std::size_t size = 1; size <= 40; ++size) {
    SCOPED_TRACE(size);
    ExpectComplaint(WriteRaw(bytes.substr(0, size)), "cannot be read as audio");
    const Pipe pipe(bytes.substr(0, size));
    ExpectComplaint(pipe.path(), "cannot be read as audio");
  }
}

TEST_F(WavHeaderTest, BrokenFormatChunks) {
  const std::string good = wav_.format;
  // No channels; a format nobody knows; a chunk that is too short; none at all.
  std::vector<std::string> bad_formats(2, good);
  bad_formats[0][2] = 0;
  bad_formats[1][0] = 0x77;
  bad_formats.push_back(good.substr(0, 8));
  for (const std::string& format : bad_formats) {
    wav_.format = format;
    const std::string bytes = wav_.Bytes();
    ExpectComplaint(WriteRaw(bytes), "cannot be read as audio");
    const Pipe pipe(bytes);
    ExpectComplaint(pipe.path(), "cannot be read as audio");
  }
  const std::string no_format = "RIFF" + LittleEndianBytes(12, 4) + "WAVE" + Chunk("data", "");
  ExpectComplaint(WriteRaw(no_format), "cannot be read as audio");
}

TEST_F(WavHeaderTest, RandomDamageNeverCrashes) {
  std::mt19937 random(1);
  wav_.data.resize(200);
  wav_.between = Chunk("LIST", "INFOISFT" + LittleEndianBytes(4, 4) + "test");
  for (int round = 0; round < 300; ++round) {
    std::string bytes = wav_.Bytes();
    for (unsigned i = 0; i <= random() % 4; ++i) {
      bytes[random() % 80] = static_cast<char>(random());
    }
    // Either way; but always the same way, and never anything else than std::runtime_error.
    const std::string path = WriteRaw(bytes);
    EXPECT_EQ(Complaint(path), Complaint(path));
    Complaint(Pipe(bytes).path());
  }
}

// ---- Other damage ----

TEST_F(AudioReaderTest, NotAudio) {
  ExpectComplaint(folder_.Path("missing.wav"), "cannot open: No such file or directory");
  ExpectComplaint(folder_.Path(""), "is a directory, expected an audio file");
  ExpectComplaint(WriteRaw(""), "is empty, expected audio");
  ExpectComplaint(WriteRaw("some text\n"), "cannot be read as audio");
  ExpectComplaint(WriteRaw(std::string(100000, '\0')), "cannot be read as audio");
  std::mt19937 random(1);
  std::string garbage(5000, '\0');
  for (char& byte : garbage) byte = static_cast<char>(random());
  ExpectComplaint(WriteRaw(garbage), "expected WAV, FLAC or another format of libsndfile");
  ExpectComplaint(Pipe("").path(), "is empty");
  ExpectComplaint(Pipe(garbage).path(), "cannot be read as audio");
}

TEST_F(AudioReaderTest, SamplesThatAreNotNumbers) {
  const std::vector<float> good = Noise(2 * 9000);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> samples = good;
    samples[2 * 8765 + 1] = bad;
    const std::string path = Write(samples, 2, 16000, SF_FORMAT_WAV | SF_FORMAT_FLOAT);
    ExpectComplaint(path, "sample 8765 is " + std::to_string(bad));
    // A channel that is not read does no harm.
    AudioReaderOptions options;
    options.channel = 0;
    EXPECT_EQ(Complaint(path, options), "");
    options.channel = 1;
    ExpectComplaint(path, "sample 8765 is", options);
  }
}

TEST_F(AudioReaderTest, BrokenFlacIsAnError) {
  const std::vector<float> samples = Noise(50000);
  const std::string bytes = ReadBytes(Write(samples, 1, 16000, SF_FORMAT_FLAC | SF_FORMAT_PCM_16));
  // Cut off anywhere, also between two of FLAC's own blocks.
  for (std::size_t size = 5000; size < bytes.size(); size += 4999) {
    EXPECT_NE(Complaint(WriteRaw(bytes.substr(0, size))), "") << size;
  }
  const std::string sync("\xff\xf8", 2);
  const std::size_t third_block =
      bytes.find(sync, bytes.find(sync, bytes.find(sync) + 1000) + 1000);
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

TEST_F(StandardInputTest, SamplesArriveWhileTheWriterIsStillRecording) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::dup2(ends[0], STDIN_FILENO), STDIN_FILENO);
  ::close(ends[0]);
  Wav wav;
  wav.riff_size = 0xffffffff;
  wav.data_size = 0xffffffff;
  const std::string second(16000, '\x11');
  const auto write = [&](const std::string& bytes) {
    ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  };
  // One thread writes and reads in turn: a reader that asked for more than it gives would hang.
  write(wav.Bytes() + second.substr(0, 4));
  AudioReader reader("-");
  std::vector<float> samples(8000);
  EXPECT_EQ(reader.Read(samples.data(), 2), 2U);
  for (int i = 0; i < 3; ++i) {
    write(second);
    EXPECT_EQ(reader.Read(samples.data(), 3000), 3000U);
    EXPECT_EQ(reader.Read(samples.data(), 5000), 5000U);
  }
  write(second.substr(0, 5));
  ::close(ends[1]);
  EXPECT_EQ(reader.Read(samples.data(), 100), 2U);
  EXPECT_EQ(reader.Read(samples.data(), 100), 0U);
}

}  // namespace
}  // namespace runnel
