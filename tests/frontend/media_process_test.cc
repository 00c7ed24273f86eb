// What becomes of a recording when media_decoder is missing, crashes or sends nonsense.
#include "frontend/media/media_process.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tests/frontend/audio_reader_fixture.h"

namespace runnel {
namespace {

class MediaProcessTest : public AudioReaderTest {
 protected:
  ~MediaProcessTest() override { ::unsetenv("RUNNEL_MEDIA_DECODER"); }

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

// It is killed, whatever it does.
TEST_F(MediaProcessTest, EndsWithItsRecording) {
  Replace("printf '\\003\\000\\000\\000\\000\\000\\000\\000'; sleep 1000");
  const auto process = MediaProcess::OfStream("mp3");
  float sample = 0;
  EXPECT_EQ(process->Read(&sample, 1), 0U);
  EXPECT_FALSE(process->has_ended());
}

// Bytes for a decoder that has gone are an error, not a signal.
TEST_F(MediaProcessTest, GoneBeforeARequest) {
  Replace("printf '\\003\\000\\000\\000\\000\\000\\000\\000'");
  const auto process = MediaProcess::OfStream("mp3");
  float sample = 0;
  EXPECT_EQ(process->Read(&sample, 1), 0U);
  process->Give("bytes");
  EXPECT_THROW(process->Read(&sample, 1), std::runtime_error);
}

}  // namespace
}  // namespace runnel
