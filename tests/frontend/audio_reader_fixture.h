// What the tests of AudioReader share: reading everything, complaints, pipes.
#ifndef RUNNEL_TESTS_FRONTEND_AUDIO_READER_FIXTURE_H_
#define RUNNEL_TESTS_FRONTEND_AUDIO_READER_FIXTURE_H_

#include <gtest/gtest.h>
#include <sndfile.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "frontend/audio_reader.h"
#include "tests/support/audio_files.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {

inline std::vector<float> Noise(size_t count, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-0.9F, 0.9F);
  std::vector<float> samples(count);
  for (float& sample : samples) sample = uniform(random);
  return samples;
}

// Everything the reader gives, asked for in `packet` samples at a time.
inline std::vector<float> ReadAll(AudioReader* reader, size_t packet = 1000) {
  std::vector<float> samples;
  size_t count = 0;
  do {
    samples.resize(samples.size() + packet);
    count = reader->Read(samples.data() + samples.size() - packet, packet);
    samples.resize(samples.size() - packet + count);
  } while (count == packet);
  float none = 0.0F;
  EXPECT_EQ(reader->Read(&none, 1), 0U);
  return samples;
}

inline std::vector<float> ReadFile(const std::string& path,
                                   const AudioReaderOptions& options = {}) {
  AudioReader reader(path, options);
  return ReadAll(&reader);
}

// The message of the std::runtime_error that opening or reading the file ends with; "" if it works.
inline std::string Complaint(const std::string& path, const AudioReaderOptions& options = {}) {
  try {
    ReadFile(path, options);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

inline void ExpectComplaint(const std::string& path, const std::string& part,
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
      size_t done = 0;
      while (done < bytes_.size()) {
        const ssize_t count = ::write(ends_[1], bytes_.data() + done, bytes_.size() - done);
        if (count <= 0) break;
        done += static_cast<size_t>(count);
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

class AudioReaderTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ::signal(SIGPIPE, SIG_IGN); }

  // Writes `samples` with libsndfile and returns the path.
  std::string Write(const std::vector<float>& samples, int channels = 1, int rate_hz = 16000,
                    int format = SF_FORMAT_WAV | SF_FORMAT_PCM_16) {
    std::string path = folder_.File("audio");
    testing::WriteAudio(path, samples, channels, rate_hz, format);
    return path;
  }

  std::string WriteRaw(const std::string& bytes) {
    std::string path = folder_.File("raw");
    testing::WriteBytes(path, bytes);
    return path;
  }

  testing::TemporaryFolder folder_;
};

}  // namespace runnel

#endif  // RUNNEL_TESTS_FRONTEND_AUDIO_READER_FIXTURE_H_
