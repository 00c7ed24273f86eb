// MP3 files: lengths, cut-off files, tags.
#include <gtest/gtest.h>
#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/audio_reader.h"
#include "tests/frontend/audio_reader_fixture.h"
#include "tests/support/file_bytes.h"

namespace runnel {
namespace {

using testing::ReadBytes;

constexpr int kFormat = SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III;
constexpr int kRateHz = 16000;
constexpr size_t kFrame = 576;  // samples of a frame at this rate
constexpr size_t kNumSamples = 3 * kRateHz;

class MpegTest : public AudioReaderTest {
 protected:
  void SetUp() override {
    SF_INFO info = {};
    info.channels = 1;
    info.samplerate = kRateHz;
    info.format = kFormat;
    if (sf_format_check(&info) == 0) GTEST_SKIP() << "this libsndfile has no MP3";
  }

  // A second of noise and two of a tone, with a variable bit rate: the first frames are much larger
  // than the others. libsndfile's file begins with an Info frame, which has the number of samples.
  std::string WithInfoFrame() {
    std::vector<float> samples = Noise(kNumSamples);
    for (size_t i = kRateHz; i < samples.size(); ++i) {
      samples[i] = 0.01F * std::sin(0.1F * static_cast<float>(i));
    }
    const std::string path = folder_.File("mp3");
    SF_INFO info = {};
    info.channels = 1;
    info.samplerate = kRateHz;
    info.format = kFormat;
    SNDFILE* const file = sf_open(path.c_str(), SFM_WRITE, &info);
    EXPECT_NE(file, nullptr) << sf_strerror(nullptr);
    int mode = SF_BITRATE_MODE_VARIABLE;
    sf_command(file, SFC_SET_BITRATE_MODE, &mode, sizeof(mode));
    EXPECT_EQ(sf_write_float(file, samples.data(), kNumSamples), sf_count_t{kNumSamples});
    sf_close(file);
    return ReadBytes(path);
  }

  // Without that frame, as programs write that do not know the length.
  std::string WithoutInfoFrame() {
    const std::string bytes = WithInfoFrame();
    const size_t second_frame = bytes.find(bytes.substr(0, 2), 4);
    EXPECT_NE(second_frame, std::string::npos);
    EXPECT_LT(bytes.find("Xing"), second_frame);
    return bytes.substr(second_frame);
  }

  std::vector<float> Read(const std::string& bytes, size_t packet = 1000) {
    AudioReader reader = AudioReader::FromBytes(bytes, "bytes");
    return ReadAll(&reader, packet);
  }
};

TEST_F(MpegTest, AnInfoFrameHasTheLength) {
  AudioReader reader(WriteRaw(WithInfoFrame()));
  EXPECT_EQ(reader.sample_rate_hz(), kRateHz);
  EXPECT_EQ(ReadAll(&reader).size(), kNumSamples);
  EXPECT_EQ(reader.announced_samples(), std::nullopt);
}

// The Info frame of the first piece has the length of that piece.
TEST_F(MpegTest, JoinedFilesAreReadToTheEnd) {
  const std::string piece = WithInfoFrame();
  const std::string tag = std::string("ID3\4\0\0\0\0\x10\0", 10) + std::string(1000, '\0') +
                          "\xFF\xE0\xFF\xFB" + std::string(1044, '\xFF');
  const size_t alone = Read(piece).size();
  for (const std::string& joined :
       {piece + piece, piece + tag + piece, tag + piece + tag + piece}) {
    AudioReader reader(WriteRaw(joined));
    // The second Info frame is one of silence.
    EXPECT_GE(ReadAll(&reader).size(), 2 * alone);
    EXPECT_LE(ReadAll(&reader).size(), 2 * alone + 4 * kFrame);
    EXPECT_EQ(reader.announced_samples(), std::nullopt);
  }
}

// An estimate from the size of the file and of the first frame would be less than half of it.
TEST_F(MpegTest, NothingIsLostWithoutALength) {
  AudioReader reader(WriteRaw(WithoutInfoFrame()));
  EXPECT_EQ(reader.num_samples(), std::nullopt);
  EXPECT_EQ(reader.announced_samples(), std::nullopt);
  const std::vector<float> samples = ReadAll(&reader);
  // The samples before and after the recording, which only an Info frame tells, are there too.
  EXPECT_GE(samples.size(), kNumSamples);
  EXPECT_LE(samples.size(), kNumSamples + 5 * kFrame);
  const std::vector<float> exact = Read(WithInfoFrame());
  const auto found =
      std::search(samples.begin(), samples.end(), exact.begin(), exact.begin() + 2 * kRateHz,
                  [](float a, float b) { return std::abs(a - b) < 1e-4F; });
  EXPECT_NE(found, samples.end());
}

TEST_F(MpegTest, CutOffFilesAreReadAsFarAsTheyGo) {
  for (const std::string& bytes : {WithInfoFrame(), WithoutInfoFrame()}) {
    const std::vector<float> whole = Read(bytes);
    for (size_t size = bytes.size() / 2; size < bytes.size() / 2 + 200; size += 11) {
      AudioReader reader(WriteRaw(bytes.substr(0, size)));
      const std::vector<float> samples = ReadAll(&reader);
      ASSERT_GT(samples.size(), 3 * kFrame) << size;
      ASSERT_LT(samples.size(), whole.size()) << size;
      // The last frames may lack bits.
      ASSERT_TRUE(std::equal(samples.begin(), samples.end() - 2 * kFrame, whole.begin())) << size;
      const int64_t announced = reader.announced_samples().value_or(kNumSamples);
      EXPECT_NEAR(static_cast<double>(announced), kNumSamples, 3 * kFrame);
    }
  }
}

TEST_F(MpegTest, BlockSizesDoNotMatter) {
  const std::string with = WithInfoFrame(), without = WithoutInfoFrame();
  for (const std::string& bytes :
       {with, without, with.substr(0, with.size() / 2), without.substr(0, without.size() / 2)}) {
    const std::vector<float> expected = Read(bytes);
    for (const size_t packet : {size_t{1}, size_t{191}, size_t{192}, size_t{576}, size_t{100000}}) {
      EXPECT_EQ(Read(bytes, packet), expected) << packet;
    }
  }
}

TEST_F(MpegTest, TagsAreNotAudio) {
  const std::string before = std::string("ID3\4\0\0\0\0\x10\0", 10) + std::string(2048, '\0');
  const std::string behind = "TAGtitle" + std::string(120, '\0');
  for (const std::string& bytes : {WithInfoFrame(), WithoutInfoFrame()}) {
    const std::vector<float> expected = Read(bytes);
    EXPECT_EQ(Read(before + bytes), expected);
    EXPECT_EQ(Read(bytes + behind), expected);
    EXPECT_EQ(Read(before + bytes + behind), expected);
  }
}

TEST_F(MpegTest, PipesAndFiles) {
  for (const std::string& bytes : {WithInfoFrame(), WithoutInfoFrame()}) {
    const std::vector<float> expected = Read(bytes);
    EXPECT_EQ(ReadFile(WriteRaw(bytes)), expected);
    EXPECT_EQ(ReadFile(Pipe(bytes).path()), expected);
  }
}

TEST_F(MpegTest, DamageIsNotTakenForTheEnd) {
  for (const std::string& good : {WithInfoFrame(), WithoutInfoFrame()}) {
    std::string hole = good;  // and frames behind it: zeros at the end are none
    const size_t hole_bytes = good.size() / 4;
    hole.replace(good.size() / 2, hole_bytes, hole_bytes, '\0');
    const std::string path = WriteRaw(hole);
    AudioReaderOptions strict;
    strict.strict_recordings = true;
    ExpectComplaint(path, ": is MP3 and is damaged after sample ", strict);
    AudioReader reader(path);
    const size_t count = ReadAll(&reader).size();
    EXPECT_GT(count, size_t{kNumSamples} / 2);
    ASSERT_EQ(reader.warnings().size(), 1U);
    EXPECT_EQ(reader.warnings()[0].find("is damaged: skipped "), 0U) << reader.warnings()[0];
  }
}

TEST_F(MpegTest, DamageIsOneErrorAndNothingElse) {
  const std::string good = WithInfoFrame();
  const std::string text =
      std::string("\xFF\xFB\x90\0", 4) + "hello, this is not an MP3 file at all";
  for (const std::string& bytes : {text, good.substr(0, 100), good.substr(0, 300)}) {
    const std::string path = WriteRaw(bytes);
    ::testing::internal::CaptureStderr();
    const std::string complaint = Complaint(path);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << bytes.size();
    EXPECT_EQ(complaint.find(path + ": is MP3 and "), 0U) << complaint;
    EXPECT_EQ(complaint.find('\n'), std::string::npos) << complaint;
  }
  // What can be read is read, without notes.
  ::testing::internal::CaptureStderr();
  EXPECT_GT(Read(good.substr(0, good.size() / 2)).size(), kFrame);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace runnel
