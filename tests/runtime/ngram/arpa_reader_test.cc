// ARPA text of all toolkits is read, and every mistake in it is named.
#include "runtime/ngram/arpa_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "runtime/language_model.h"
#include "tests/runtime/ngram/arpa_test_support.h"
#include "tests/support/error_message.h"
#include "tests/support/file_bytes.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

using testing::Contains;

constexpr char kModel[] =
    "\\data\\\n"        // 1
    "ngram 1=4\n"       // 2
    "ngram 2=2\n"       // 3
    "\n"                // 4
    "\\1-grams:\n"      // 5
    "-99\t<s>\t-0.5\n"  // 6
    "-1\t</s>\n"        // 7
    "-0.5\ta\t-0.25\n"  // 8
    "-0.75\tb\t0\n"     // 9
    "\n"                // 10
    "\\2-grams:\n"      // 11
    "-0.125\t<s> a\n"   // 12
    "-0.0625\ta b\n"    // 13
    "\n"                // 14
    "\\end\\\n";        // 15

std::string Replaced(const std::string& from, const std::string& to) {
  std::string text = kModel;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string ErrorOf(const std::string& text) {
  return testing::ErrorMessage<std::runtime_error>([&] { CompileText(text); });
}

std::string ErrorAfter(const std::string& from, const std::string& to) {
  return ErrorOf(Replaced(from, to));
}

std::string FingerprintOfText(const std::string& text) {
  return LanguageModelOfText(text)->fingerprint();
}

TEST(ArpaReaderTest, WaysToWriteTheSame) {
  const std::string expected = FingerprintOfText(kModel);
  for (const std::string& text : {
           Replaced("\\data\\\n", "# junk\nngram 1=7\n\n\\data\\ \n"),
           Replaced("\\data\\\n", "\xEF\xBB\xBF\\data\\\n"),
           Replaced("ngram 1=4\nngram 2=2\n", "ngram  1=        4\n ngram 2 =2 \n"),
           Replaced("-1\t</s>\n", "-1 </s>  0.0\n"),
           Replaced("-99\t<s>\t-0.5", "-inf <s> -5e-1"),
           Replaced("-99\t<s>\t-0.5", "-99.0\t<s>\t-.5"),
           Replaced("-0.75\tb\t0\n", "  -0.75 \t b \t +0.0 \t\n\n"),
           Replaced("-0.75\tb\t0\n", "-0.75\tb\n"),
           Replaced("a b\n", "a b\t-3\n"),  // a back-off weight in the highest order has no use
           Replaced("\\end\\\n", "\\end\\"),
           Replaced("\\end\\\n", "\\end\\\nmore\n"),
       }) {
    EXPECT_EQ(FingerprintOfText(text), expected) << text;
  }
}

TEST(ArpaReaderTest, AProbabilityThatIsRoundedAboveOne) {
  const auto model = ModelOfText(Replaced("-0.0625\ta b", "0.00001\ta b"));
  NgramModel::Context context = NgramModel::Empty();
  model->Log10Prob(context, model->WordId("a"), &context);
  EXPECT_EQ(model->Log10Prob(context, model->WordId("b"), &context), 0);
}

TEST(ArpaReaderTest, ALevelWithoutNgrams) {
  const auto model = ModelOfText(
      "\\data\\\nngram 1=1\nngram 2=0\nngram 3=1\n\\1-grams:\n-1 a -1\n\\2-grams:\n\\3-grams:\n"
      "-0.5 a a a\n\\end\\\n");
  NgramModel::Context context = NgramModel::Empty();
  EXPECT_EQ(model->Log10Prob(context, 0, &context), -1);
  EXPECT_EQ(model->Log10Prob(context, 0, &context), -2);
  EXPECT_EQ(model->Log10Prob(context, 0, &context), -0.5);
}

TEST(ArpaReaderTest, FilesOfOtherKinds) {
  EXPECT_EQ(ErrorOf(""), "lm.arpa: is empty; expected ARPA text or a compiled model");
  EXPECT_EQ(ErrorOf("hello\nworld\n"),
            "lm.arpa: has no line \\data\\ (2 lines read); expected ARPA text or a compiled model");
  EXPECT_EQ(
      ErrorOf("\x1F\x8B\x08 and so on"),
      "lm.arpa: expected ARPA text or a compiled model, but the file is compressed with gzip; "
      "gunzip it first");
  EXPECT_TRUE(Contains(ErrorOf("BZh91AY"), "bunzip2"));
  EXPECT_TRUE(Contains(ErrorOf("\xFD"
                               "7zXZ"),
                       "unxz"));
  EXPECT_TRUE(Contains(ErrorOf("mmap lm http://kheafield.com/code format version 5\n"), "KenLM"));
  EXPECT_TRUE(Contains(ErrorOf("iARPA\n\\data\\\n"), "compile-lm --text=yes"));
  EXPECT_EQ(ErrorOf(std::string("junk\na\0b\n", 9)),
            "lm.arpa:2: has a zero byte; expected ARPA text or a compiled model");
  EXPECT_EQ(ErrorOf("\xFF\xFE"),
            "lm.arpa:1: is not UTF-8; expected ARPA text in UTF-8, or a compiled model");
  EXPECT_EQ(ErrorOf(std::string(LineReader::kMaxLineSize + 1, 'a')),
            "lm.arpa:1: longer than 1048576 bytes; expected lines of ARPA text");
}

TEST(ArpaReaderTest, WrongCounts) {
  EXPECT_EQ(ErrorAfter("ngram 1=4\nngram 2=2\n", ""),
            "lm.arpa:3: expected 'ngram 1=COUNT', got '\\1-grams:'");
  EXPECT_EQ(ErrorAfter("ngram 1=4", "ngram 1=0"),
            "lm.arpa:5: \\data\\ announces no 1-grams; expected at least 1");
  EXPECT_EQ(ErrorAfter("ngram 2=2", "ngram 3=2"),
            "lm.arpa:3: expected the count of 2-grams, got 'ngram 3=2'");
  for (const char* line : {"ngram 2", "ngram 2=", "ngram =2", "ngram 2=x", "ngram 2=2x",
                           "ngram 2=-2", "words 2=2", "ngram 2=99999999999999999999"}) {
    EXPECT_EQ(ErrorAfter("ngram 2=2", line),
              "lm.arpa:3: expected 'ngram K=COUNT' or \\1-grams:, got '" + std::string(line) + "'");
  }
  EXPECT_EQ(ErrorAfter("ngram 2=2", "ngram 2=4294967295"),
            "lm.arpa:3: announces 4294967295 n-grams; expected at most 4294967294 of one length");
  // No memory is taken for so many.
  EXPECT_EQ(ErrorAfter("ngram 2=2", "ngram 2=4294967294"),
            "lm.arpa:15: expected 4294967294 2-grams as \\data\\ announces, got 2");
  EXPECT_EQ(ErrorAfter("ngram 2=2", "ngram 2=1"),
            "lm.arpa:13: expected \\end\\ after the 1 2-grams that \\data\\ announces, got "
            "'-0.0625 a b'");
  EXPECT_EQ(ErrorAfter("ngram 1=4", "ngram 1=5"),
            "lm.arpa:11: expected 5 1-grams as \\data\\ announces, got 4");
  std::string counts;
  for (int i = 2; i <= 9; ++i) counts += "ngram " + std::to_string(i) + "=1\n";
  EXPECT_EQ(ErrorAfter("ngram 2=2\n", counts),
            "lm.arpa:10: the model has 9-grams; expected an order of at most 8");
}

TEST(ArpaReaderTest, WrongSections) {
  EXPECT_EQ(ErrorAfter("\\2-grams:", "\\3-grams:"),
            "lm.arpa:11: expected \\2-grams:, got '\\3-grams:'");
  EXPECT_EQ(ErrorAfter("\\1-grams:", "\\end\\"), "lm.arpa:5: expected \\1-grams:, got '\\end\\'");
  EXPECT_EQ(ErrorAfter("\\end\\", "\\3-grams:"), "lm.arpa:15: expected \\end\\, got '\\3-grams:'");
}

TEST(ArpaReaderTest, WrongLines) {
  const std::string expected =
      "expected a probability, 2 words and perhaps a back-off weight, got ";
  EXPECT_EQ(ErrorAfter("-0.0625\ta b", "-0.0625\ta"), "lm.arpa:13: " + expected + "'-0.0625 a'");
  EXPECT_EQ(ErrorAfter("-0.0625\ta b", "-0.0625"), "lm.arpa:13: " + expected + "'-0.0625'");
  EXPECT_EQ(ErrorAfter("-0.0625\ta b", "-0.0625\ta b 1 2"),
            "lm.arpa:13: " + expected + "'-0.0625 a b 1 2'");
  EXPECT_EQ(ErrorAfter("-0.0625\ta b", "-0.0625\ta b c"),
            "lm.arpa:13: expected a log10 back-off weight, got 'c'");
  for (const char* number :
       {"x", "nan", "-nan", "1e999", "-1e39", "0x1p-3", "--1", "+-1", "-1,5", "inf"}) {
    EXPECT_EQ(ErrorAfter("-0.5\ta", number + std::string("\ta")),
              "lm.arpa:8: expected a log10 probability, got '" + std::string(number) + "'");
    EXPECT_EQ(ErrorAfter("a\t-0.25", std::string("a\t") + number),
              "lm.arpa:8: expected a log10 back-off weight, got '" + std::string(number) + "'");
  }
  EXPECT_EQ(ErrorAfter("-0.5\ta", "0.5\ta"),
            "lm.arpa:8: the log10 probability of '0.5 a -0.25' is 0.5; expected at most 0");
  EXPECT_EQ(ErrorAfter("-0.0625\ta b", "-0.0625\ta c"),
            "lm.arpa:13: 'c' is not among the 1-grams; expected words that are");
  EXPECT_EQ(ErrorAfter("\tb\t", "\ta\t"),
            "lm.arpa:9: 'a' occurs twice; expected every 1-gram once");
  EXPECT_EQ(ErrorAfter("ngram 2=2", "ngram 2=3\n").substr(0, 11), "lm.arpa:16:");
  EXPECT_EQ(ErrorAfter("-0.0625\ta b", "-0.0625\t<s>\ta"),
            "lm.arpa:13: '<s> a' occurs twice; expected every 2-gram once");
  EXPECT_EQ(ErrorAfter("-0.5\ta", "-0.5\ta\xFF"),
            "lm.arpa:8: is not UTF-8; expected ARPA text in UTF-8, or a compiled model");
  EXPECT_EQ(ErrorAfter("-0.0625\ta b", std::string("-0.0625\ta\0b", 11)),
            "lm.arpa:13: has a zero byte; expected ARPA text or a compiled model");
  // The message stays one line.
  EXPECT_EQ(ErrorAfter("-0.0625\ta b", "-0.0625\ta \rb"),
            "lm.arpa:13: '?b' is not among the 1-grams; expected words that are");
}

// A 3-gram whose first two words are no 2-gram, twice.
TEST(ArpaReaderTest, DuplicatesBehindMissingNgrams) {
  EXPECT_EQ(
      ErrorOf("\\data\\\nngram 1=2\nngram 2=0\nngram 3=3\n\\1-grams:\n-1 a\n-1 b\n\\2-grams:\n"
              "\\3-grams:\n-1 b b a\n-1 a b b\n\n-2 b b a\n\\end\\\n"),
      "lm.arpa:13: 'b b a' occurs twice; expected every 3-gram once");
}

TEST(ArpaReaderTest, EveryTruncationIsNamed) {
  const std::string text = kModel;
  // Up to the last byte of \end\.
  for (size_t size = 0; size + 1 < text.size(); ++size) {
    SCOPED_TRACE(size);
    const std::string error = ErrorOf(text.substr(0, size));
    EXPECT_TRUE(Contains(error, "expected")) << error;
  }
  EXPECT_EQ(ErrorOf(text.substr(0, text.find("-0.0625"))),
            "lm.arpa:12: the text ends here; expected 1 more 2-grams and \\end\\");
  EXPECT_EQ(ErrorOf(text.substr(0, text.find("\\1-grams"))),
            "lm.arpa:4: the text ends here; expected 'ngram K=COUNT' or \\1-grams:");
  EXPECT_EQ(ErrorOf(text.substr(0, text.find("\\end"))),
            "lm.arpa:14: the text ends here; expected 0 more 2-grams and \\end\\");
}

TEST(LanguageModelTest, FilesThatCannotBeRead) {
  const testing::TemporaryFolder folder;
  const auto error = [](const std::string& path) {
    return testing::ErrorMessage<std::runtime_error>([&] { LanguageModel::Load(path); });
  };
  EXPECT_EQ(error(folder.File("none")),
            folder.File("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(error(folder.File(".")), folder.File(".") + ": cannot read: Is a directory");
  testing::WriteBytes(folder.File("empty"), "");
  EXPECT_TRUE(Contains(error(folder.File("empty")), "is empty"));
}

TEST(LanguageModelTest, ReadsAPipe) {
  const testing::TemporaryFolder folder;
  const std::string pipe = folder.File("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const auto load_written = [&](const std::string& bytes) {
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << bytes; });
    std::string result;
    try {
      result = LanguageModel::Load(pipe)->fingerprint();
    } catch (const std::runtime_error& error) {
      result = error.what();
    }
    writer.join();
    return result;
  };
  EXPECT_EQ(load_written(kModel), FingerprintOfText(kModel));
  EXPECT_EQ(load_written("RNLNGRAM"),
            pipe + ": is a compiled model in a pipe; expected a regular file");
}

TEST(LanguageModelTest, ReportsProgress) {
  const testing::TemporaryFolder folder;
  testing::WriteBytes(folder.File("lm.arpa"), kModel);
  std::vector<double> fractions;
  LanguageModel::Load(folder.File("lm.arpa"),
                      [&](double fraction) { fractions.push_back(fraction); });
  ASSERT_EQ(fractions.size(), 2U);
  EXPECT_LT(fractions[0], fractions[1]);
  EXPECT_EQ(fractions[1], 1);
}

TEST(LanguageModelTest, SavesWholeFilesOnly) {
  const testing::TemporaryFolder folder;
  const auto model = LanguageModelOfText(kModel);
  const auto error = [&](const std::string& path) {
    return testing::ErrorMessage<std::runtime_error>([&] { model->Save(path); });
  };
  EXPECT_TRUE(Contains(error(folder.File("none/lm.bin")), "lm.bin: cannot create: No such file"));
  EXPECT_EQ(error(folder.File(".")), folder.File(".") + ": cannot write: not a regular file");
  EXPECT_EQ(error("/dev/null"), "/dev/null: cannot write: not a regular file");
  // Replaces what a link stands for. What was mapped stays as it was.
  const std::string path = folder.File("lm.bin");
  model->Save(path);
  const auto mapped = LanguageModel::Load(path);
  std::filesystem::create_symlink(path, folder.File("link"));
  LanguageModelOfText(Replaced("-0.75", "-0.76"))->Save(folder.File("link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder.File("link")));
  EXPECT_NE(LanguageModel::Load(path)->fingerprint(), model->fingerprint());
  EXPECT_EQ(LanguageModel::Load(folder.File("link"))->fingerprint(),
            LanguageModel::Load(path)->fingerprint());
  NgramModel::Context context = NgramModel::Empty();
  EXPECT_EQ(mapped->ngrams().Log10Prob(context, mapped->ngrams().WordId("b"), &context), -0.75);
  // Nothing else is left in the folder.
  const std::filesystem::directory_iterator files(folder.File(""));
  EXPECT_EQ(std::distance(begin(files), end(files)), 2);
}

}  // namespace
}  // namespace runnel
