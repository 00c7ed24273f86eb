// No descriptor is closed twice, whatever file AudioReader opens. In between, its number may be
// that of another thread's file or connection.
//
// A program of its own, because it stands between libsndfile and close().
#include <gtest/gtest.h>
#include <sndfile.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <random>
#include <stdexcept>
#include <string>

#include "frontend/audio_reader.h"
#include "tests/frontend/audio_reader_fixture.h"
#include "tests/support/file_bytes.h"
#include "tests/support/random_steps.h"

namespace {
std::atomic<int> closes{0}, wrong_closes{0};
}  // namespace

extern "C" int close(int fd) {
  ++closes;
  const auto result = static_cast<int>(::syscall(SYS_close, fd));
  if (result != 0 && errno == EBADF) ++wrong_closes;
  return result;
}

namespace runnel {
namespace {

void Open(const std::string& bytes) {
  try {
    AudioReader reader = AudioReader::FromBytes(bytes, "bytes");
    ReadAll(&reader);
  } catch (const std::runtime_error&) {  // as is expected of damaged bytes
  }
}

// Without Vorbis, of whose damaged files libsndfile leaks headers (frontend/audio_format.cc).
TEST_F(AudioReaderTest, DescriptorsAreClosedOnce) {
  std::mt19937_64 random(testing::RandomSeed(1));
  for (const int format :
       {SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM,
        SF_FORMAT_WAV | SF_FORMAT_GSM610, SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG,
        SF_FORMAT_W64 | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
        SF_FORMAT_OGG | SF_FORMAT_OPUS, SF_FORMAT_AIFF | SF_FORMAT_PCM_16,
        SF_FORMAT_AU | SF_FORMAT_ULAW, SF_FORMAT_CAF | SF_FORMAT_PCM_16,
        SF_FORMAT_NIST | SF_FORMAT_PCM_16, SF_FORMAT_VOC | SF_FORMAT_PCM_16,
        SF_FORMAT_PAF | SF_FORMAT_PCM_16, SF_FORMAT_SVX | SF_FORMAT_PCM_16,
        SF_FORMAT_IRCAM | SF_FORMAT_PCM_16, SF_FORMAT_MAT5 | SF_FORMAT_PCM_16}) {
    const std::string bytes = testing::ReadBytes(Write(Noise(4000), 1, 16000, format));
    Open(bytes);
    for (int64_t step = testing::RandomSteps(100); step > 0; --step) {
      std::string damaged = bytes.substr(0, random() % bytes.size());
      for (uint64_t flips = random() % 3; flips > 0 && !damaged.empty(); --flips) {
        damaged[random() % damaged.size()] = static_cast<char>(random());
      }
      Open(damaged);
      ASSERT_EQ(wrong_closes, 0) << std::hex << format << ", " << damaged.size();
    }
  }
}

// libsndfile's own calls come here.
TEST_F(AudioReaderTest, ClosingTwiceIsSeen) {
  const int fd = ::dup(STDIN_FILENO);
  SF_INFO info = {};
  const std::string path = WriteRaw("no audio");
  const int before = closes, wrong_before = wrong_closes;
  EXPECT_EQ(sf_open(path.c_str(), SFM_READ, &info), nullptr);
  EXPECT_GT(closes, before);
  EXPECT_EQ(::close(fd), 0);
  EXPECT_NE(::close(fd), 0);
  EXPECT_EQ(wrong_closes, wrong_before + 1);
}

}  // namespace
}  // namespace runnel
