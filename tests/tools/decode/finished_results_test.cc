// The results in an output file whose writer was killed at any byte.
#include "tools/decode/finished_results.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
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
using testing::ReadBytes;
using testing::TemporaryFolder;
using testing::WriteBytes;

// Results of recordings a, b, c, d, e; "" if one failed.
struct Case {
  OutputFormat format;
  std::vector<std::string> results;
};

std::string Line(const std::string& text) { return text + "\n"; }

const std::vector<Case>& Cases() {
  static const std::vector<Case> cases = {
      {OutputFormat::kText, {"a one two\n", "b\n", "c three\n", "d \u00e9\n", "e x\n"}},
      {OutputFormat::kText, {"", "b one\n", "", "", "e x\n"}},
      {OutputFormat::kText, {"a one\n", "", "c one\n", "d x\n", ""}},
      {OutputFormat::kJson,
       {Line(R"({"id":"a","text":"b c"})"), Line(R"({"id":"b","text":"\n"})"), "",
        Line(R"({"text":"","id":"d"})"), Line(R"({"id":"e"})")}},
      {OutputFormat::kJoinedText, {"a one two\n", "", "c\n", "d x\n", "e one\n"}},
      {OutputFormat::kUtteranceJson,
       {Line(R"({"id":"a","segments":[{"text":"b","nbest":[]}],"audio_seconds":1.0})"),
        Line(R"({"id":"b","segments":[],"audio_seconds":1.0})"),
        Line(R"({"id":"c","segments":[{"text":"x"}],"error":"c: lost"})"), "",
        Line(R"({"id":"e","segments":[{"text":"x"}],"error":"e: lost"})")}},
      {OutputFormat::kCtm,
       {"a 1 0.00 0.10 one 1.000\na 1 0.20 0.10 two 1.000\n", "",
        "c 1 0.00 0.10 one 0.500\nc 1 0.30 0.10 two 0.500\n", "d 1 0.00 0.10 one 1.000\n", ""}}};
  return cases;
}

class FinishedResultsTest : public ::testing::Test {
 protected:
  std::string Joined(const Case& some, size_t begin = 0) const {
    std::string content;
    for (size_t i = begin; i < some.results.size(); ++i) content += some.results[i];
    return content;
  }

  const std::vector<Recording> recordings_ = {
      {"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "5"}};
  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("out");
};

TEST_F(FinishedResultsTest, ResumedAfterAnyByteTheFileIsTheSame) {
  for (const Case& some : Cases()) {
    const std::string whole = Joined(some);
    for (size_t size = 0; size <= whole.size(); ++size) {
      WriteBytes(path_, whole.substr(0, size));
      const FinishedResults finished(path_, some.format, recordings_);
      std::map<size_t, std::string> again;  // a failed recording fails again
      for (const size_t gap : finished.gaps()) again[gap] = some.results[gap];
      finished.Restore(again);
      const std::string kept = ReadBytes(path_);
      EXPECT_EQ(kept + Joined(some, finished.num_reached()), whole) << size;
      // A recording is lost and, in CTM, the one before, which may have been incomplete.
      EXPECT_LE(size - kept.size(), 120u);
    }
  }
}

TEST_F(FinishedResultsTest, GapsAreFilledInPlace) {
  for (const Case& some : Cases()) {
    WriteBytes(path_, Joined(some));
    const FinishedResults finished(path_, some.format, recordings_);
    std::map<size_t, std::string> found;
    Case repaired = some;
    for (const size_t gap : finished.gaps()) {
      EXPECT_TRUE(some.results[gap].empty() ||
                  some.results[gap].find("\"error\"") != std::string::npos);
      found[gap] = repaired.results[gap] = "new " + std::to_string(gap) + "\n";
    }
    finished.Restore(found);
    EXPECT_EQ(ReadBytes(path_) + Joined(repaired, finished.num_reached()), Joined(repaired));
    EXPECT_FALSE(std::filesystem::exists(path_ + ".resuming"));
  }
}

TEST_F(FinishedResultsTest, Counts) {
  WriteBytes(path_, "b one\ne two\n");
  const FinishedResults finished(path_, OutputFormat::kText, recordings_);
  EXPECT_EQ(finished.num_reached(), 5u);
  EXPECT_EQ(finished.num_finished(), 2u);
  EXPECT_EQ(finished.gaps(), (std::vector<size_t>{0, 2, 3}));
}

TEST_F(FinishedResultsTest, AnObjectWithAnErrorIsReplaced) {
  const std::string first = Line(R"({"id":"a","segments":[{"error":"not of the recording"}]})");
  const std::string last = Line(R"({"id":"c","segments":[],"audio_seconds":1.0})");
  const std::string failed = Line(R"({"id":"b","segments":[{"text":"x"}],"error":"lost"})");
  const auto after = [&](const std::string& again) {
    WriteBytes(path_, first + failed + last);
    const FinishedResults finished(path_, OutputFormat::kUtteranceJson, recordings_);
    EXPECT_EQ(finished.num_reached(), 3u);
    EXPECT_EQ(finished.gaps(), std::vector<size_t>{1});
    finished.Restore({{1, again}});
    return ReadBytes(path_);
  };
  const std::string repaired = Line(R"({"id":"b","segments":[],"audio_seconds":1.0})");
  EXPECT_EQ(after(repaired), first + repaired + last);
  EXPECT_EQ(after(failed), first + failed + last);
  EXPECT_EQ(after(""), first + last);  // failed before its first utterance
}

TEST_F(FinishedResultsTest, MissingAndEmptyFilesHoldNothing) {
  const FinishedResults missing(path_, OutputFormat::kText, recordings_);
  EXPECT_EQ(missing.num_reached(), 0u);
  missing.Restore({});
  EXPECT_FALSE(std::filesystem::exists(path_));
  WriteBytes(path_, "");
  EXPECT_EQ(FinishedResults(path_, OutputFormat::kJson, recordings_).num_reached(), 0u);
  EXPECT_EQ(FinishedResults().num_reached(), 0u);
}

TEST_F(FinishedResultsTest, KeepsALink) {
  WriteBytes(path_, "b one\n");
  const std::string link = folder_.File("link");
  std::filesystem::create_symlink(path_, link);
  FinishedResults(link, OutputFormat::kText, recordings_).Restore({{0, "a new\n"}});
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ReadBytes(path_), "a new\nb one\n");
}

TEST_F(FinishedResultsTest, RefusesWhatIsNotOfThisRun) {
  const auto message = [&](OutputFormat format, const std::string& content) {
    WriteBytes(path_, content);
    return ErrorMessage<std::runtime_error>([&] { FinishedResults(path_, format, recordings_); });
  };
  for (const char* content : {"x one\n", "\n", "a-1 one\n", "{\"id\":\"a\"}\n", " a one\n"}) {
    EXPECT_TRUE(Contains(message(OutputFormat::kText, content),
                         path_ + ":1: is no result of these recordings in this format"));
  }
  for (const char* line : {"a one", "{", "[]", "{\"id\":1}", "{\"text\":\"a\"}"}) {
    EXPECT_TRUE(Contains(
        message(OutputFormat::kJson, "{\"id\":\"a\"}\n" + std::string(line) + "\n"), path_ + ":2"));
  }
  EXPECT_TRUE(Contains(message(OutputFormat::kText, "b x\na x\n"), "'a' does not come after"));
  EXPECT_TRUE(Contains(message(OutputFormat::kText, "b x\nb x\n"), path_ + ":2: 'b' does not"));
  EXPECT_TRUE(Contains(message(OutputFormat::kCtm, "b 1\nc 1\nb 1\n"), path_ + ":3: 'b' does not"));
}

TEST_F(FinishedResultsTest, WaitsAtNoPipe) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_TRUE(Contains(ErrorMessage<std::runtime_error>(
                           [&] { FinishedResults(path_, OutputFormat::kText, recordings_); }),
                       "expected a regular file"));
}

}  // namespace
}  // namespace runnel
