// Outputs that cannot be written are reported, and the checks create no file.
#include "tools/cli/output_check.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;
using testing::ReadBytes;
using testing::TemporaryFolder;
using testing::WriteBytes;

std::string Refusal(const std::string& output) {
  return ErrorMessage<std::runtime_error>([&] { CheckOutputCanBeWritten(output); });
}

std::string RewriteRefusal(const std::string& output) {
  return ErrorMessage<std::runtime_error>([&] { CheckOutputCanBeRewritten(output); });
}

TEST(OutputCheckTest, PlacesThatCanBeWrittenStayAsTheyAre) {
  const TemporaryFolder folder;
  const std::string there = folder.File("there");
  const std::string missing = folder.File("missing");
  WriteBytes(there, "content");
  for (const std::string& output : {there, missing, std::string("/dev/null")}) {
    EXPECT_NO_THROW(CheckOutputCanBeWritten(output));
    EXPECT_NO_THROW(CheckOutputCanBeRewritten(output));
  }
  const std::filesystem::path current = std::filesystem::current_path();
  std::filesystem::current_path(folder.File(""));
  EXPECT_NO_THROW(CheckOutputCanBeWritten("missing"));
  std::filesystem::current_path(current);
  EXPECT_EQ(ReadBytes(there), "content");
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST(OutputCheckTest, PlacesThatCannotBeWrittenAreNamed) {
  const TemporaryFolder folder;
  const std::string file = folder.File("file");
  WriteBytes(file, "content");
  EXPECT_EQ(Refusal(folder.File("")), folder.File("") + ": cannot create: Is a directory");
  EXPECT_EQ(Refusal(folder.File("x/y")),
            folder.File("x/y") + ": cannot create: No such file or directory");
  EXPECT_EQ(Refusal(folder.File("x/")), folder.File("x/") + ": cannot create: Is a directory");
  EXPECT_EQ(Refusal(file + "/y"), file + "/y: cannot create: Not a directory");
  EXPECT_TRUE(Contains(Refusal(folder.File(std::string(300, 'x'))), "File name too long"));
  EXPECT_EQ(RewriteRefusal(folder.File("x/y")), Refusal(folder.File("x/y")));
}

TEST(OutputCheckTest, Permissions) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const TemporaryFolder folder;
  const std::string file = folder.File("file");
  WriteBytes(file, "content");
  ASSERT_EQ(::chmod(file.c_str(), 0400), 0);
  EXPECT_EQ(Refusal(file), file + ": cannot create: Permission denied");
  ASSERT_EQ(::chmod(folder.File("").c_str(), 0500), 0);
  EXPECT_EQ(Refusal(folder.File("new")), folder.File("new") + ": cannot create: Permission denied");
  ASSERT_EQ(::chmod(folder.File("").c_str(), 0700), 0);
}

TEST(OutputCheckTest, PipesCanBeWrittenButNotRewritten) {
  const TemporaryFolder folder;
  const std::string pipe = folder.File("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& output : {pipe, std::string("-")}) {
    EXPECT_NO_THROW(CheckOutputCanBeWritten(output));
    EXPECT_TRUE(
        Contains(RewriteRefusal(output), output + ": is a pipe or a terminal, expected a file"));
  }
}

TEST(OutputCheckTest, OnlyRegularFilesAreReplaced) {
  const TemporaryFolder folder;
  WriteBytes(folder.File("there"), "content");
  EXPECT_NO_THROW(CheckOutputCanBeReplaced(folder.File("there")));
  EXPECT_NO_THROW(CheckOutputCanBeReplaced(folder.File("missing")));
  for (const std::string output : {"-", "/dev/null"}) {
    EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { CheckOutputCanBeReplaced(output); }),
              output + ": is not a regular file, expected one, or a new name");
  }
}

}  // namespace
}  // namespace runnel
