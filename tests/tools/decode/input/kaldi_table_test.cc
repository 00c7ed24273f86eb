// Kaldi's tables with values of any kind; recording_list_test has the errors of a line.
#include "tools/decode/input/kaldi_table.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

using testing::ErrorMessage;

TEST(KaldiTableTest, ValuesMayBeEmptyAndHoldSpaces) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("text");
  testing::WriteBytes(path, "a two  zero \r\nb\nc\t\xe4 |");
  const std::vector<KaldiLine> lines = ReadKaldiTable(path, "id words");
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[0].id, "a");
  EXPECT_EQ(lines[0].value, "two  zero");
  EXPECT_EQ(lines[0].place, path + ":1: ");
  EXPECT_EQ(lines[1].id, "b");
  EXPECT_EQ(lines[1].value, "");
  EXPECT_EQ(lines[2].value, "\xe4 |");

  testing::WriteBytes(path, "");
  EXPECT_TRUE(ReadKaldiTable(path, "id words").empty());
}

TEST(KaldiTableTest, ErrorsNameTheFormOfALine) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("text");
  testing::WriteBytes(path, "a two\n\n");
  EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { ReadKaldiTable(path, "id words"); }),
            path + ":2: empty line, expected 'id words'");
}

}  // namespace
}  // namespace runnel
