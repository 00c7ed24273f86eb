// Flags and help of a tool.
#include "tools/cli/command_line.h"

#include <gflags/gflags.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/error_message.h"

DEFINE_int32(test_count, 3, "A count.");
DEFINE_double(test_share, 0.5, "A share.");
DEFINE_string(test_name, "", "A name.");
DEFINE_string(test_files, "", "Files.");
DEFINE_int32(test_size, -2, "A size; -1: all; -2: as the model recommends. Large.");
DEFINE_int32(test_rate, -2, "A rate. 1 to 5, -1 (any) or -2 (the model's).");
DEFINE_bool(test_loud, false, "Loud.");
DEFINE_bool(test_exact, true, "Exact.");

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;

class CommandLineTest : public ::testing::Test {
 protected:
  CommandLineAction Parse(const std::vector<std::string>& arguments) {
    return ParseCommandLine(tool_, arguments);
  }
  std::string ParseError(const std::vector<std::string>& arguments) {
    return ErrorMessage<std::invalid_argument>([&] { Parse(arguments); });
  }

  const ToolInfo tool_{"test_tool",
                       "test_tool tests.\n",
                       {{__FILE__}},
                       {"test_name", "test_count"},
                       {"test_name", "test_files"},
                       {"test_files"}};
  const gflags::FlagSaver saver_;
};

TEST_F(CommandLineTest, SetsFlagsInEverySpelling) {
  EXPECT_EQ(Parse({"--test_count=-7", "-test_share", "0.25", "--test-name=a=b", "--test_loud",
                   "--notest_exact"}),
            CommandLineAction::kRun);
  EXPECT_EQ(FLAGS_test_count, -7);
  EXPECT_EQ(FLAGS_test_share, 0.25);
  EXPECT_EQ(FLAGS_test_name, "a=b");
  EXPECT_TRUE(FLAGS_test_loud);
  EXPECT_FALSE(FLAGS_test_exact);
  Parse({"--test_loud=false", "--test_exact=true", "--test_count", "-1"});
  EXPECT_FALSE(FLAGS_test_loud);
  EXPECT_TRUE(FLAGS_test_exact);
  EXPECT_EQ(FLAGS_test_count, -1);
}

TEST_F(CommandLineTest, KnowsWhichFlagsWereGiven) {
  EXPECT_FALSE(IsFlagGiven("test_count"));
  Parse({"--test_count=3"});  // its default
  EXPECT_TRUE(IsFlagGiven("test_count"));
}

TEST_F(CommandLineTest, RequiredFlags) {
  const auto text = [] { RequireFlag("test_name", "a name or two"); };
  EXPECT_EQ(ErrorMessage<std::invalid_argument>(text),
            "--test_name is missing, expected a name or two");
  Parse({"--test_name="});
  ErrorMessage<std::invalid_argument>(text);
  const auto either = [] { RequireEither("test_name", "test_share"); };
  EXPECT_EQ(ErrorMessage<std::invalid_argument>(either),
            "--test_name and --test_share are both missing, expected either --test_name or "
            "--test_share");
  Parse({"--test_name=x"});
  EXPECT_NO_THROW(text());
  EXPECT_NO_THROW(either());
  Parse({"--test_share=0.25"});
  EXPECT_EQ(ErrorMessage<std::invalid_argument>(either),
            "--test_name and --test_share are both given, expected either --test_name or "
            "--test_share");
  Parse({"--test_name="});
  EXPECT_NO_THROW(either());
}

TEST_F(CommandLineTest, AnotherNameReplacesWholeWords) {
  const ToolInfo tool{
      "cut", "cut cuts.\n\n  cut --x=a_cut | cut\n  shortcut --x, cut_all, (cut)", {{"file.cc"}}};
  const ToolInfo renamed = Renamed(tool, "scissors cut");
  EXPECT_EQ(renamed.name, "scissors cut");
  EXPECT_EQ(renamed.usage,
            "scissors cut cuts.\n\n  scissors cut --x=a_cut | scissors cut\n"
            "  shortcut --x, cut_all, (scissors cut)");
  EXPECT_STREQ(renamed.sources.at(0).file, "file.cc");
}

TEST_F(CommandLineTest, HelpAndVersionWin) {
  EXPECT_EQ(Parse({"--no_such_flag", "--help"}), CommandLineAction::kHelp);
  EXPECT_EQ(Parse({"--version"}), CommandLineAction::kVersion);
}

TEST_F(CommandLineTest, NamesWhatIsWrong) {
  EXPECT_EQ(ParseError({"--no_such_flag=1"}), "unknown flag --no_such_flag");
  EXPECT_EQ(ParseError({"--notest_count"}),
            "unknown flag --notest_count, did you mean --test_count?");
  EXPECT_EQ(ParseError({"--test_count"}), "--test_count has no value");
  EXPECT_EQ(ParseError({"--test_count=1.5"}), "--test_count is '1.5', expected an integer");
  EXPECT_EQ(ParseError({"--test_count="}), "--test_count is '', expected an integer");
  EXPECT_EQ(ParseError({"--test_loud=perhaps"}),
            "--test_loud is 'perhaps', expected true or false");
  EXPECT_EQ(ParseError({""}), "an argument is empty, expected a file");
  const ToolInfo flags_only{"test_tool", "test_tool tests.\n", {{__FILE__}}};
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] { ParseCommandLine(flags_only, {"-"}); }),
            "unexpected argument '-', expected flags: --name=value");
}

TEST_F(CommandLineTest, NamesTheFlagThatIsMeant) {
  EXPECT_EQ(ParseError({"--test_cuont=1"}),
            "unknown flag --test_cuont, did you mean --test_count?");
  EXPECT_EQ(ParseError({"--tets-exact"}), "unknown flag --tets_exact, did you mean --test_exact?");
  EXPECT_EQ(ParseError({"--best=1"}), "unknown flag --best");
}

TEST_F(CommandLineTest, ArgumentsWithoutNames) {
  using Files = std::vector<std::string>;
  Parse({"a", "b,c.wav", "--test_loud", "-", "--", "--d"});
  EXPECT_EQ(FLAGS_test_name, "a");
  EXPECT_TRUE(FLAGS_test_loud);
  EXPECT_EQ(FilesOf("test_files"), (Files{"b,c.wav", "-", "--d"}));
  Parse({"b", "--test_name=n", "c"});  // a flag that is given takes no argument
  EXPECT_EQ(FLAGS_test_name, "n");
  EXPECT_EQ(FilesOf("test_files"), (Files{"b", "c"}));
  EXPECT_TRUE(IsFlagGiven("test_files"));
  const ToolInfo one{"test_tool", "test_tool tests.\n", {{__FILE__}}, {}, {"test_name"}};
  EXPECT_EQ(ErrorMessage<std::invalid_argument>([&] {
              ParseCommandLine(one, {"a", "b"});
            }),
            "unexpected argument 'b', expected at most the values of --test_name");
}

TEST_F(CommandLineTest, ListsOfFilesMayBeGivenAgain) {
  using Files = std::vector<std::string>;
  Parse({"--test_files=a,b", "name", "--test_files", "c"});
  EXPECT_EQ(FilesOf("test_files"), (Files{"a", "b", "c"}));
  Parse({"--test_files="});
  EXPECT_EQ(FilesOf("test_files"), Files());
  EXPECT_EQ(FLAGS_test_files, "");
  for (const std::string value : {",", "a,", ",a", "a,,b"}) {
    EXPECT_EQ(ParseError({"--test_files=" + value}),
              "--test_files is '" + value + "', expected file names between commas");
  }
}

TEST_F(CommandLineTest, FlagsOfLibrariesAreUnknown) {
  EXPECT_EQ(ParseError({"--flagfile=x"}), "unknown flag --flagfile");
  EXPECT_EQ(ParseError({"--undefok=x"}), "unknown flag --undefok");
}

TEST_F(CommandLineTest, OfAFlagThatIsGivenAgainTheLastValueCounts) {
  Parse({"--test_name=a", "--test_count", "4", "--test_exact", "--test_name=b", "--notest_exact"});
  EXPECT_EQ(FLAGS_test_name, "b");
  EXPECT_EQ(FLAGS_test_count, 4);
  EXPECT_FALSE(FLAGS_test_exact);
}

TEST_F(CommandLineTest, HelpListsTheToolsOwnFlags) {
  const std::string help = HelpText(tool_);
  EXPECT_EQ(help.find("test_tool tests.\n"), 0U);
  EXPECT_TRUE(Contains(help, "--test_count=INTEGER  (default: 3)\n      A count."));
  EXPECT_TRUE(Contains(help, "--test_name=TEXT\n"));
  EXPECT_TRUE(Contains(help, "--test_exact  (default: true)\n"));
  EXPECT_TRUE(Contains(help, "--test_size=INTEGER  (default: -2, as the model recommends)\n"));
  EXPECT_TRUE(Contains(help, "--test_rate=INTEGER  (default: -2, the model's)\n"));
  // Main flags first.
  EXPECT_TRUE(Contains(help, "\nFlags:\n  --test_name=TEXT\n      A name.\n  --test_count="));
  EXPECT_TRUE(Contains(help, "\nOther flags:\n  --test_exact"));
  EXPECT_EQ(help.find("--test_name"), help.rfind("--test_name"));
  EXPECT_EQ(help.find("flagfile"), std::string::npos);
  EXPECT_EQ(help.find("gtest"), std::string::npos);
}

}  // namespace
}  // namespace runnel
