// What becomes of a recording when media_decoder is missing, crashes or sends nonsense.
#include "frontend/media/media_process.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/audio_source.h"
#include "tests/frontend/audio_reader_fixture.h"

namespace runnel {
namespace {

class MediaProcessTest : public AudioReaderTest {
 protected:
  ~MediaProcessTest() override {
    ::unsetenv("RUNNEL_MEDIA_DECODER");
    ::unsetenv("RUNNEL_MEDIA_PATIENCE_S");
    ::unsetenv("LD_LIBRARY_PATH");
    ::signal(SIGCHLD, SIG_DFL);
  }

  // Has a shell script stand for media_decoder.
  void Replace(const std::string& script) {
    const std::string path = folder_.File("script");
    testing::WriteBytes(path, "#!/bin/sh\n" + script + "\n");
    ASSERT_EQ(::chmod(path.c_str(), 0700), 0);
    ASSERT_EQ(::setenv("RUNNEL_MEDIA_DECODER", path.c_str(), 1), 0);
  }

  // Of a file that only media_decoder reads.
  std::string ComplaintOfMp4() {
    const std::string path = WriteRaw(std::string("\0\0\0\x1C", 4) + "ftypmp42" + "and so on");
    const std::string complaint = Complaint(path);
    EXPECT_EQ(complaint.find(path + ": is MP4 and "), 0U) << complaint;
    return complaint.substr((path + ": is MP4 and ").size());
  }
};

TEST_F(MediaProcessTest, NoProgram) {
  ::setenv("RUNNEL_MEDIA_DECODER", "/nonexistent", 1);
  EXPECT_EQ(ComplaintOfMp4(),
            "needs the program /nonexistent, which cannot be started: No such file or directory");
}

TEST_F(MediaProcessTest, Crash) {
  Replace("kill -SEGV $$");
  EXPECT_EQ(ComplaintOfMp4(), "cannot be decoded (media_decoder was ended by signal 11)");
  Replace("exit 3");
  EXPECT_EQ(ComplaintOfMp4(), "cannot be decoded (media_decoder ended with status 3)");
  Replace("exit 127");
  EXPECT_EQ(ComplaintOfMp4(),
            "cannot be decoded (media_decoder cannot be started, FFmpeg's libraries are missing)");
}

TEST_F(MediaProcessTest, Nonsense) {
  Replace("printf '\\001\\000\\000\\000\\377\\000\\000\\000'");
  EXPECT_EQ(ComplaintOfMp4(), "cannot be decoded (media_decoder sent a reply of a wrong size)");
  Replace("printf '\\011\\000\\000\\000\\000\\000\\000\\000'");
  EXPECT_EQ(ComplaintOfMp4(), "cannot be decoded (media_decoder sent a reply of an unknown type)");
  Replace("printf '\\002\\000\\000\\000\\004\\000\\000\\000abcd'");
  EXPECT_EQ(ComplaintOfMp4(), "cannot be decoded (media_decoder sent samples before their format)");
}

constexpr char kHungry[] = "printf '\\003\\000\\000\\000\\000\\000\\000\\000'";
constexpr char kFormat[] =
    "printf '\\001\\000\\000\\000\\010\\000\\000\\000'; "
    "printf '\\200\\076\\000\\000\\001\\000\\000\\000'";  // 16 kHz, 1 channel

TEST_F(MediaProcessTest, RepliesThatFitNoFile) {
  Replace(kHungry);
  EXPECT_EQ(ComplaintOfMp4(), "cannot be decoded (media_decoder asked for bytes of a file)");
  Replace(std::string(kFormat) + "; printf '\\002\\000\\000\\000\\000\\000\\000\\000'");
  EXPECT_EQ(ComplaintOfMp4(), "cannot be decoded (media_decoder sent a reply of a wrong size)");
}

constexpr char kWarning[] = "printf '\\006\\000\\000\\000\\003\\000\\000\\000a\\nb'";
constexpr char kEnd[] =
    "printf '\\004\\000\\000\\000\\010\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000'";

TEST_F(MediaProcessTest, WarningsReachTheReaderAsLines) {
  Replace(std::string(kWarning) + "; " + kFormat + "; " + kEnd);
  const std::string path = WriteRaw(std::string("\0\0\0\x1C", 4) + "ftypmp42" + "and so on");
  AudioSource source(path, 16000);
  float sample = 0;
  EXPECT_EQ(source.Read(&sample, 1), 0U);
  EXPECT_EQ(source.Warnings(),
            (std::vector<std::string>{path + ": a?b", path + ": has no samples"}));
  Replace(std::string("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do ") + kWarning +
          "; done");
  EXPECT_EQ(ComplaintOfMp4(), "cannot be decoded (media_decoder sent too many warnings)");
}

TEST_F(MediaProcessTest, Patience) {
  ::setenv("RUNNEL_MEDIA_PATIENCE_S", "0.05", 1);
  const std::string expected = "cannot be decoded (media_decoder made no progress for 0.05 s)";
  Replace("exec sleep 1000");
  EXPECT_EQ(ComplaintOfMp4(), expected);
  Replace(std::string(kFormat) + "; exec sleep 1000");
  EXPECT_EQ(ComplaintOfMp4(), expected);
  // Single samples now and then are no progress.
  Replace(std::string(kFormat) +
          "; while printf '\\002\\000\\000\\000\\004\\000\\000\\000\\000\\000\\000\\000';"
          " do sleep 0.02; done");
  EXPECT_EQ(ComplaintOfMp4(), expected);

  ::setenv("RUNNEL_MEDIA_PATIENCE_S", "long", 1);
  EXPECT_EQ(ComplaintOfMp4(),
            "cannot be decoded (RUNNEL_MEDIA_PATIENCE_S is long, expected seconds above 0)");
}

// The loader of programs may need it.
TEST_F(MediaProcessTest, EnvironmentIsTheFoldersOfLibraries) {
  ::setenv("LD_LIBRARY_PATH", "/nonexistent", 1);
  Replace(
      R"([ "$LD_LIBRARY_PATH" = /nonexistent ] && [ -z "$HOME$RUNNEL_MEDIA_DECODER" ] && exit 7)");
  EXPECT_EQ(ComplaintOfMp4(), "cannot be decoded (media_decoder ended with status 7)");
}

// Whether the process has ended, of which the handle is (pidfd).
bool HasEnded(const FileDescriptor& handle) {
  pollfd ended = {handle.get(), POLLIN, 0};
  return ::poll(&ended, 1, 0) == 1;
}

void ExpectThatItEndsWithItsRecording() {
  auto process = MediaProcess::OfStream("mp3");
  float sample = 0;
  EXPECT_EQ(process->Read(&sample, 1), 0U);
  EXPECT_FALSE(process->has_ended());
  const FileDescriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process->pid(), 0)));
  ASSERT_GE(handle.get(), 0);
  EXPECT_FALSE(HasEnded(handle));
  process.reset();
  EXPECT_TRUE(HasEnded(handle));
}

// It is killed, whatever it does, and waited for.
TEST_F(MediaProcessTest, EndsWithItsRecording) {
  Replace(std::string(kHungry) + "; exec sleep 1000");
  ExpectThatItEndsWithItsRecording();
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

// Then the system waits for the children, and their numbers may be those of other processes.
TEST_F(MediaProcessTest, ProgramThatIgnoresItsChildren) {
  ::signal(SIGCHLD, SIG_IGN);
  Replace(std::string(kHungry) + "; exec sleep 1000");
  ExpectThatItEndsWithItsRecording();
  Replace("exit 3");
  EXPECT_EQ(ComplaintOfMp4(), "cannot be decoded (media_decoder ended before the recording did)");
}

// A number that another process has got by then is not killed.
TEST_F(MediaProcessTest, ProgramThatWaitsForAllChildren) {
  Replace(std::string(kHungry));
  auto process = MediaProcess::OfStream("mp3");
  ASSERT_EQ(::waitpid(process->pid(), nullptr, 0), process->pid());
  process.reset();
  Replace(std::string(kHungry));
  process = MediaProcess::OfStream("mp3");
  ASSERT_EQ(::waitpid(process->pid(), nullptr, 0), process->pid());
  float sample = 0;
  EXPECT_EQ(process->Read(&sample, 1), 0U);
  EXPECT_THROW(
      {
        process->Give("bytes");
        process->Read(&sample, 1);
      },
      std::runtime_error);
}

// A thread must not wait for it.
TEST_F(MediaProcessTest, RequestsThatAreNotRead) {
  Replace(std::string("while ") + kHungry + "; do :; done");
  const auto process = MediaProcess::OfStream("mp3");
  const std::string request(kMaxMediaRequestBytes, 'x');
  float sample = 0;
  EXPECT_THROW(
      for (int i = 0; i < 100; ++i) {
        process->Read(&sample, 1);
        process->Give(request);
      },
      std::runtime_error);
}

// Bytes for a decoder that has gone are an error, not a signal.
TEST_F(MediaProcessTest, GoneBeforeARequest) {
  Replace(kHungry);
  const auto process = MediaProcess::OfStream("mp3");
  float sample = 0;
  EXPECT_EQ(process->Read(&sample, 1), 0U);
  process->Give("bytes");
  EXPECT_THROW(process->Read(&sample, 1), std::runtime_error);
}

}  // namespace
}  // namespace runnel
