// The recordings and ids of --wav and --wav_scp.
#include "tools/decode/input/recording_list.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::TemporaryFolder;
using testing::WriteBytes;

std::vector<std::string> Ids(const std::vector<std::string>& paths) {
  std::vector<std::string> ids;
  for (const Recording& recording : RecordingsFromPaths(paths)) ids.push_back(recording.id);
  return ids;
}

TEST(RecordingsFromPathsTest, IdIsTheNameWithoutFolderAndExtension) {
  EXPECT_EQ(Ids({"a.wav"}), (std::vector<std::string>{"a"}));
  EXPECT_EQ(Ids({"x/y/b.2.flac", "../c", "-"}), (std::vector<std::string>{"b.2", "c", "stdin"}));
  EXPECT_EQ(Ids({"my talk\t1.wav"}), (std::vector<std::string>{"my_talk_1"}));
  EXPECT_EQ(Ids({"caf\u00e9\x1b[31m.wav"}), (std::vector<std::string>{"caf\u00e9_[31m"}));
  EXPECT_EQ(Ids({"caf\xe9.wav"}), (std::vector<std::string>{"caf_"}));  // Latin-1
  const std::vector<Recording> recordings = RecordingsFromPaths({"x/my talk.wav", "-"});
  EXPECT_EQ(recordings[0].path, "x/my talk.wav");
  EXPECT_EQ(recordings[1].path, "-");
}

TEST(RecordingsFromPathsTest, EqualNamesGetTheirPath) {
  EXPECT_EQ(Ids({"x/a.wav", "b.wav", "y/a.wav"}),
            (std::vector<std::string>{"x/a.wav", "b", "y/a.wav"}));
  EXPECT_EQ(Ids({"a.wav", "a.flac"}), (std::vector<std::string>{"a.wav", "a.flac"}));
}

TEST(RecordingsFromPathsTest, ACommaIsAPartOfAName) {
  EXPECT_EQ(Ids({"one,two.wav"}), (std::vector<std::string>{"one,two"}));
}

TEST(RecordingsFromPathsTest, RefusesRepetition) {
  const std::vector<std::vector<std::string>> lists = {{"a.wav", "b.wav", "a.wav"}, {"-", "-"}};
  for (const std::vector<std::string>& paths : lists) {
    EXPECT_TRUE(Contains(ErrorMessage<std::invalid_argument>([&] { RecordingsFromPaths(paths); }),
                         "twice"));
  }
}

class ReadRecordingListTest : public ::testing::Test {
 protected:
  std::vector<Recording> Read(const std::string& text) {
    WriteBytes(path_, text);
    return ReadRecordingList(path_);
  }
  std::string ReadError(const std::string& text) {
    return ErrorMessage<std::runtime_error>([&] { Read(text); });
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("wav.scp");
};

TEST_F(ReadRecordingListTest, ReadsKaldiLines) {
  const std::vector<Recording> recordings = Read("b x/b.wav\na\t/y/my talk.flac \nc -");
  ASSERT_EQ(recordings.size(), 3U);
  EXPECT_EQ(recordings[0].id, "b");
  EXPECT_EQ(recordings[0].path, "x/b.wav");
  EXPECT_EQ(recordings[1].id, "a");
  EXPECT_EQ(recordings[1].path, "/y/my talk.flac");
  EXPECT_EQ(recordings[2].path, "-");
}

TEST_F(ReadRecordingListTest, ReadsWhatOtherSystemsWrite) {
  const std::vector<Recording> recordings = Read(
      "\xEF\xBB\xBF"
      "a a.wav\r\nb b.wav\r\n");
  ASSERT_EQ(recordings.size(), 2U);
  EXPECT_EQ(recordings[0].id, "a");
  EXPECT_EQ(recordings[1].path, "b.wav");
}

TEST_F(ReadRecordingListTest, NamesFileAndLine) {
  EXPECT_EQ(ReadError("a a.wav\n\nb b.wav\n"), path_ + ":2: empty line, expected 'id path'");
  EXPECT_EQ(ReadError("a a.wav\nb\n"), path_ + ":2: 'b' has no path, expected 'id path'");
  EXPECT_EQ(ReadError("a a.wav\nb b.wav\na c.wav\n"),
            path_ + ":3: id 'a' is already used in line 1");
  EXPECT_TRUE(
      Contains(ReadError("a sox a.mp3 -t wav - |\n"), ":1: 'sox a.mp3 -t wav - |' is a command"));
  EXPECT_EQ(ReadError("a -\nb -\n"), path_ + ":2: standard input is listed twice");
  EXPECT_TRUE(Contains(ReadError("a a.wav\nb " + std::string(100000, 'x')), ":2: longer than"));
  EXPECT_EQ(ReadError(std::string("a a.wav\nb b\0.wav\n", 16)), path_ + ":2: is not text");
  for (const std::string id : {"caf\xe9", "a\x1b[31m", "\x7f"}) {
    EXPECT_EQ(ReadError("a a.wav\n" + id + " b.wav\n"),
              path_ + ":2: the id is not UTF-8 text without control characters");
  }
  EXPECT_EQ(Read("caf\u00e9 caf\xe9.wav\n")[0].path, "caf\xe9.wav");  // a path is any bytes
  EXPECT_EQ(ReadError(""), path_ + ": lists no recordings");
}

TEST_F(ReadRecordingListTest, NamesAFileThatCannotBeRead) {
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { ReadRecordingList(path_); }),
            path_ + ": cannot open: No such file or directory");
  EXPECT_TRUE(Contains(ErrorMessage<std::runtime_error>([&] { ReadRecordingList("/dev/zero"); }),
                       "longer than"));
  EXPECT_TRUE(
      Contains(ErrorMessage<std::runtime_error>([&] { ReadRecordingList(folder_.File("")); }),
               "Is a directory"));
}

}  // namespace
}  // namespace runnel
