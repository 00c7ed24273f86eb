// WAV headers that a library would not write, in files and through pipes.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "frontend/audio_reader.h"
#include "tests/frontend/audio_reader_fixture.h"
#include "tests/support/audio_files.h"

namespace runnel {
namespace {

using testing::Chunk;
using testing::LittleEndianBytes;

// A WAV file of 16-bit samples at 8 kHz, part by part.
struct Wav {
  std::string before;  // chunks before "fmt "
  std::string format = LittleEndianBytes(1, 2) + LittleEndianBytes(1, 2) +
                       LittleEndianBytes(8000, 4) + LittleEndianBytes(16000, 4) +
                       LittleEndianBytes(2, 2) + LittleEndianBytes(16, 2);
  std::string between;  // chunks before "data"
  std::string data;
  std::string after;  // chunks after "data"
  std::optional<uint64_t> riff_size;
  std::optional<uint64_t> data_size;

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
      wav_.data += LittleEndianBytes(static_cast<uint64_t>(i), 2);
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
  wav_.after += Chunk("data", "") + Chunk("mine", std::string(70000, 'z')) +
                std::string(5000, '\0') + Chunk("LIST", "INFO");
  ExpectSamples(expected_);
  // Cut off.
  wav_.after = "LIST" + LittleEndianBytes(5000, 4) + "INFO";
  ExpectSamples(expected_);
  for (const std::string cut : {"L", "LIST", "LIST123"}) {
    wav_.after = cut;
    ExpectSamples(expected_);
  }
  // Tags without a chunk around them.
  const std::string id3v1 = "TAGtitle" + std::string(120, '\0');
  const std::string id3v2 = std::string("ID3\4\0\0\0\0\x10\0", 10) + std::string(2048, 't');
  for (const std::string& tags : {id3v1, id3v2, id3v2 + id3v1, Chunk("LIST", "INFO") + id3v1}) {
    wav_.after = tags;
    ExpectSamples(expected_);
    ExpectComplaint(WriteRaw(wav_.Bytes() + wav_.Bytes()),
                    "another recording (a WAV file) follows");
  }
}

// Neither is read: libsndfile by itself would take the last of several chunks of samples.
TEST_F(WavHeaderTest, NothingBehindTheSamplesIsPassedOverInSilence) {
  std::mt19937 random(1);
  std::string noise(50000, '\0');
  for (char& byte : noise) byte = static_cast<char>(random());
  struct Case {
    std::string after;
    std::string complaint;
    bool has_count;  // in a pipe, only at its end
  };
  for (const Case& c : std::vector<Case>{
           {Chunk("data", std::string(200, '\1')), "a second chunk of samples follows", true},
           {Chunk("LIST", "odd") + Chunk("data", "1234"), "a second chunk of samples follows",
            true},
           {noise, "50000 bytes that are no chunk follow", false},
           {wav_.data, "9998 bytes that are no chunk follow", false},  // the first is a zero
           {std::string(100, 'x'), "100 bytes that are no chunk follow", false},
           {"text", "4 bytes that are no chunk follow", true},
           {"TAG", "3 bytes that are no chunk follow", true},
           {"mine" + LittleEndianBytes(5000, 4) + "cut off", "15 bytes that are no chunk follow",
            true},
           {std::string(70000, '\0') + "text", "bytes that are no chunk follow", true},
           {Chunk("id3 ", "odd") + "RIFF1234AVI ", "another recording (AVI) follows", false}}) {
    wav_.after = c.after;
    const std::string bytes = wav_.Bytes();
    ExpectComplaint(WriteRaw(bytes), c.complaint + " after sample 5000, expected ");
    const std::string part =
        c.has_count ? c.complaint : c.complaint.substr(c.complaint.find(' ') + 1);
    ExpectComplaint(Pipe(bytes).path(), part + " after sample 5000, expected ");
  }
}

// Samples that the size does not count are no chunk. Those that it counts too many may be a file.
TEST_F(WavHeaderTest, WrongSizes) {
  wav_.data_size = 4000;
  ExpectComplaint(WriteRaw(wav_.Bytes()), "bytes that are no chunk follow after sample 2000");
  ExpectComplaint(Pipe(wav_.Bytes()).path(), "bytes that are no chunk follow after sample 2000");
  for (const uint64_t size : {uint64_t{0}, uint64_t{0xffffffff}, uint64_t{25000}}) {
    wav_.data_size = size;
    const std::string joined = wav_.Bytes() + wav_.Bytes();
    const std::string complaint =
        "another recording (a WAV file) follows after sample 5000, expected one";
    ExpectComplaint(WriteRaw(joined), complaint);
    ExpectComplaint(Pipe(joined).path(), complaint);
  }
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
  for (const uint64_t riff_size : {0ULL, 36ULL, 0xffffffffULL}) {
    for (const uint64_t data_size : {0ULL, 0xffffffffULL}) {
      wav_.riff_size = riff_size;
      wav_.data_size = data_size;
      ExpectSamples(expected_);
      EXPECT_EQ(AudioReader(WriteRaw(wav_.Bytes())).announced_samples(), std::nullopt);
    }
  }
  for (const uint64_t data_size : {0x7ffff000ULL, 0x7fffffd8ULL, 0x80000000ULL}) {
    wav_.riff_size = data_size + 36;
    wav_.data_size = data_size;
    ExpectSamples(expected_);
    EXPECT_EQ(AudioReader(Pipe(wav_.Bytes()).path()).num_samples(), std::nullopt);
    EXPECT_EQ(AudioReader(WriteRaw(wav_.Bytes())).num_samples(), 5000);
    EXPECT_EQ(AudioReader(WriteRaw(wav_.Bytes())).announced_samples(), std::nullopt);
  }
}

// A program that corrects the RIFF chunk alone; what follows the header are samples, not a chunk.
TEST_F(WavHeaderTest, OnlyTheSizeOfTheFileIsCorrect) {
  wav_.data_size = 0;
  ExpectSamples(expected_);
  wav_.data.resize(6);
  ExpectSamples({expected_.begin(), expected_.begin() + 3});
}

// As of clients that append a file for each part of a recording.
TEST_F(WavHeaderTest, JoinedFilesAreAnError) {
  const std::string file = wav_.Bytes();
  wav_.after = Chunk("LIST", "odd") + Chunk("id3 ", "even");
  for (const std::string& first : {file, wav_.Bytes()}) {
    for (const std::string& between :
         {std::string(), std::string(1001, '\0'), Chunk("mine", "1234"),
          Chunk("mine", "1234") + std::string(3, '\0') +
              Chunk("LIST", std::string(100000, '\1'))}) {
      const std::string joined = first + between + file;
      const std::string complaint =
          "another recording (a WAV file) follows after sample 5000, expected one";
      ExpectComplaint(WriteRaw(joined), complaint);
      ExpectComplaint(Pipe(joined).path(), complaint);
    }
  }
}

// A chunk is passed over at once, and many small ones are read together.
TEST_F(WavHeaderTest, ManyChunksBehindTheSamples) {
  for (int i = 0; i < 20000; ++i) wav_.after += Chunk("LIST", "INFO");
  ExpectSamples(expected_);
}

TEST_F(WavHeaderTest, ChunksWithoutPadding) {
  const std::string odd =
      "LIST" + LittleEndianBytes(17, 4) + "INFOISFT" + LittleEndianBytes(5, 4) + "abcde";
  wav_.between = odd;
  ExpectSamples(expected_);
  wav_.between = odd + Chunk("JUNK", "12") + odd;
  ExpectSamples(expected_);
}

TEST_F(WavHeaderTest, NoSamplesButTrailingChunks) {
  wav_.data.clear();
  wav_.after = Chunk("LIST", "INFOICMT" + LittleEndianBytes(4, 4) + "late");
  ExpectSamples({});
}

TEST_F(WavHeaderTest, TruncatedFileIsReadAsFarAsItGoes) {
  const std::string bytes = wav_.Bytes();
  for (const size_t size :
       {size_t{44}, size_t{45}, size_t{46}, size_t{47}, size_t{1001}, bytes.size() - 1}) {
    const std::vector<float> part(expected_.begin(),
                                  expected_.begin() + static_cast<std::ptrdiff_t>((size - 44) / 2));
    EXPECT_EQ(ReadFile(WriteRaw(bytes.substr(0, size))), part) << size;
    EXPECT_EQ(ReadFile(Pipe(bytes.substr(0, size)).path()), part) << size;
    EXPECT_EQ(AudioReader(WriteRaw(bytes.substr(0, size))).num_samples(), part.size()) << size;
    EXPECT_EQ(AudioReader(WriteRaw(bytes.substr(0, size))).announced_samples(), 5000) << size;
    EXPECT_EQ(AudioReader(Pipe(bytes.substr(0, size)).path()).announced_samples(), 5000) << size;
  }
}

TEST_F(WavHeaderTest, TruncatedHeaderIsAnError) {
  const std::string bytes = wav_.Bytes();
  for (size_t size = 1; size <= 40; ++size) {
    SCOPED_TRACE(size);
    ExpectComplaint(WriteRaw(bytes.substr(0, size)), "cannot be read as audio");
    const Pipe pipe(bytes.substr(0, size));
    ExpectComplaint(pipe.path(), "cannot be read as audio");
  }
}

TEST_F(WavHeaderTest, BrokenFormatChunks) {
  const std::string good = wav_.format;
  std::string no_channels = good;
  no_channels[2] = 0;
  std::string unknown_format = good;
  unknown_format[0] = 0x79;
  const std::string too_short = good.substr(0, 8);
  for (const auto& [format, expected] : std::vector<std::pair<std::string, std::string>>{
           {no_channels, "cannot be read as audio"},
           {unknown_format, "is a WAV file and holds audio of the codec with the number 121"},
           {too_short, "cannot be read as audio"}}) {
    wav_.format = format;
    const std::string bytes = wav_.Bytes();
    ExpectComplaint(WriteRaw(bytes), expected);
    const Pipe pipe(bytes);
    ExpectComplaint(pipe.path(), expected);
  }
  const std::string no_format = "RIFF" + LittleEndianBytes(12, 4) + "WAVE" + Chunk("data", "");
  ExpectComplaint(WriteRaw(no_format), "cannot be read as audio");
}

TEST_F(WavHeaderTest, SampleRatesThatNoRecorderHas) {
  for (const uint64_t rate_hz : {1U, 999U, 10000001U, 2000000000U}) {
    wav_.format.replace(4, 4, LittleEndianBytes(rate_hz, 4));
    ExpectComplaint(WriteRaw(wav_.Bytes()),
                    "has a sample rate of " + std::to_string(rate_hz) + " Hz, expected 1000 to");
  }
  wav_.format.replace(4, 4, LittleEndianBytes(1000, 4));
  ExpectSamples(expected_);
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

TEST_F(WavHeaderTest, SamplesArriveWhileTheWriterIsStillRecording) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  Wav wav;
  wav.riff_size = 0xffffffff;
  wav.data_size = 0xffffffff;
  const std::string second(16000, '\x11');
  const auto write = [&](const std::string& bytes) {
    ASSERT_EQ(::write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  };
  // One thread writes and reads in turn: a reader that asked for more than it gives would hang.
  write(wav.Bytes() + second.substr(0, 4));
  AudioReader reader("/dev/fd/" + std::to_string(ends[0]));
  ::close(ends[0]);
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
