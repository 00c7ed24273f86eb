// Cues, and their files in SubRip and WebVTT.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "tests/tools/decode/formats/make_utterance.h"
#include "tools/decode/formats/caption_cues.h"
#include "tools/decode/formats/display_width.h"
#include "tools/decode/formats/output_format.h"

namespace runnel {
namespace {

using testing::MakeTable;
using testing::MakeUtterance;

// An utterance in which token i + 1 of the table, for i from 0 to count - 1, lasts from i * 100 to
// i * 100 + 60 ms after `start_ms`.
Utterance AllTokens(const TokenTable& table, double start_ms = 0, int64_t index = 0) {
  std::vector<Token> tokens;
  for (int32_t id = 1; id < table.size(); ++id) {
    const double start = start_ms + 100 * (id - 1);
    tokens.push_back({id, start, start + 60, 1.0F});
  }
  return MakeUtterance(index, UtteranceEnd::kEndpoint, tokens, table);
}

std::vector<std::string> LinesOf(const std::vector<CaptionCue>& cues) {
  std::vector<std::string> lines;
  for (const CaptionCue& cue : cues) lines.insert(lines.end(), cue.lines.begin(), cue.lines.end());
  return lines;
}

TEST(DisplayWidthTest, WideCharactersTakeTwoColumns) {
  EXPECT_EQ(DisplayWidth(""), 0);
  EXPECT_EQ(DisplayWidth("two zero"), 8);
  EXPECT_EQ(DisplayWidth("\u00e9\u0416\u05d0\u0e01"), 4);
  EXPECT_EQ(DisplayWidth("\u4f60\u597d\u3042\ud55c\uff21\U00020000"), 12);
  // The bytes of a character that tokens spell one by one may be missing.
  EXPECT_EQ(DisplayWidth("\xe4\xbd"), 1);
  EXPECT_EQ(DisplayWidth("a\xbd\xa0\xbd\xa0 b"), 3);
}

TEST(CaptionCuesTest, ShortTextIsOneLine) {
  const TokenTable table = MakeTable({"\u2581two", "\u2581ze", "ro"});
  const std::vector<CaptionCue> cues = MakeCues(AllTokens(table, 500), table);
  ASSERT_EQ(cues.size(), 1U);
  EXPECT_EQ(cues[0].lines, std::vector<std::string>{"two zero"});
  EXPECT_EQ(cues[0].start_ms, 500);
  EXPECT_EQ(cues[0].end_ms, 760);
}

TEST(CaptionCuesTest, NoTextIsNoCue) {
  const TokenTable table = MakeTable({"\u2581"});
  EXPECT_TRUE(MakeCues(MakeUtterance(0, UtteranceEnd::kFinish, {}, table), table).empty());
  EXPECT_TRUE(MakeCues(AllTokens(table), table).empty());
}

TEST(CaptionCuesTest, FortyTwoColumnsFitALine) {
  const std::string word(20, 'a');
  const TokenTable fits = MakeTable({"\u2581" + word, "\u2581" + word + "b"});
  EXPECT_EQ(LinesOf(MakeCues(AllTokens(fits), fits)),
            std::vector<std::string>{word + " " + word + "b"});
  const TokenTable too_long = MakeTable({"\u2581" + word + "b", "\u2581" + word + "c"});
  EXPECT_EQ(LinesOf(MakeCues(AllTokens(too_long), too_long)),
            (std::vector<std::string>{word + "b", word + "c"}));
}

TEST(CaptionCuesTest, LongTextBecomesLinesOfEqualLengthAndSeveralCues) {
  std::vector<std::string> names;
  for (char c = 'a'; c < 'a' + 14; ++c) names.push_back("\u2581" + std::string(10, c));
  const TokenTable table = MakeTable(names);
  const std::vector<CaptionCue> cues = MakeCues(AllTokens(table, 1000), table);
  ASSERT_EQ(cues.size(), 3U);  // three words per line, 32 columns
  EXPECT_EQ(cues[0].lines, (std::vector<std::string>{"aaaaaaaaaa bbbbbbbbbb cccccccccc",
                                                     "dddddddddd eeeeeeeeee ffffffffff"}));
  EXPECT_EQ(cues[2].lines, std::vector<std::string>{"mmmmmmmmmm nnnnnnnnnn"});
  EXPECT_EQ(cues[0].start_ms, 1000);
  EXPECT_EQ(cues[0].end_ms, 1560);  // of the sixth word
  EXPECT_EQ(cues[1].start_ms, 1600);
  EXPECT_EQ(cues[1].end_ms, 2160);
  EXPECT_EQ(cues[2].start_ms, 2200);
  EXPECT_EQ(cues[2].end_ms, 2360);
}

TEST(CaptionCuesTest, TwoLinesAreBalanced) {
  std::vector<std::string> names(11, "");
  for (size_t i = 0; i < names.size(); ++i) names[i] = "\u2581word" + std::string(1, 'a' + i);
  const TokenTable table = MakeTable(names);  // 54 columns
  EXPECT_EQ(LinesOf(MakeCues(AllTokens(table), table)),
            (std::vector<std::string>{"worda wordb wordc wordd worde wordf",
                                      "wordg wordh wordi wordj wordk"}));
}

TEST(CaptionCuesTest, TextWithoutSpacesBreaksBetweenItsTokens) {
  std::vector<std::string> names;
  for (char c = 0; c < 30; ++c)
    names.push_back(std::string("\xE4\xB8") + static_cast<char>(0x80 + c));
  const auto join = [&](size_t first, size_t end) {
    std::string text;
    for (size_t i = first; i < end; ++i) text += names[i];
    return text;
  };
  const std::vector<std::string> expected = {join(0, 15), join(15, 30)};  // 30 columns each
  const TokenTable characters = MakeTable(names);
  EXPECT_EQ(LinesOf(MakeCues(AllTokens(characters), characters)), expected);
  // With a boundary before the first token only, the text is one word.
  std::vector<std::string> pieces = names;
  pieces[0] = "\u2581" + pieces[0];
  const TokenTable one_word = MakeTable(pieces);
  EXPECT_EQ(LinesOf(MakeCues(AllTokens(one_word), one_word)), expected);
}

TEST(CaptionCuesTest, AWordThatCannotBeDividedHasALineOfItsOwn) {
  const std::string word(60, 'x');
  const TokenTable table = MakeTable({"\u2581a", "\u2581" + word, "\u2581b"});
  EXPECT_EQ(LinesOf(MakeCues(AllTokens(table), table)), (std::vector<std::string>{"a", word, "b"}));
  // A token that ends a long word and begins the next one.
  const TokenTable across = MakeTable({"\u2581" + word, "x\u2581c"});
  EXPECT_EQ(LinesOf(MakeCues(AllTokens(across), across)),
            (std::vector<std::string>{word + "x", "c"}));
}

TEST(CaptionCuesTest, AnyTextIsShownOnceInOrder) {
  constexpr unsigned kSeed = 11;
  std::cout << "seed " << kSeed << "\n";
  std::mt19937 random(kSeed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> names;
    const size_t num_tokens = 1 + random() % 60;
    for (size_t i = 0; i < num_tokens; ++i) {
      std::string name = random() % 3 == 0 ? "" : "\u2581";
      name += std::to_string(i) + std::string(random() % 9, static_cast<char>('a' + random() % 26));
      names.push_back(name);
    }
    const TokenTable table = MakeTable(names);
    const Utterance utterance = AllTokens(table, 40);
    const std::vector<CaptionCue> cues = MakeCues(utterance, table);
    std::string shown;
    double end_ms = 0;
    for (const CaptionCue& cue : cues) {
      EXPECT_LT(cue.start_ms, cue.end_ms);
      EXPECT_LE(end_ms, cue.start_ms);
      end_ms = cue.end_ms;
      EXPECT_GE(cue.lines.size(), 1U);
      EXPECT_LE(cue.lines.size(), 2U);
      for (const std::string& line : cue.lines) {
        EXPECT_LE(DisplayWidth(line), 42) << line;
        shown += line;
      }
    }
    EXPECT_EQ(cues.front().start_ms, utterance.start_ms);
    EXPECT_EQ(end_ms, utterance.end_ms);
    const auto squeezed = [](std::string text) {
      text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
      return text;
    };
    EXPECT_EQ(squeezed(shown), squeezed(utterance.nbest[0].text));
  }
}

std::string Format(OutputFormat format, const std::vector<Utterance>& utterances,
                   const TokenTable& table) {
  const auto formatter = MakeFormatter(format, "x", 1, table);
  std::string text;
  for (const Utterance& utterance : utterances) text += formatter->Add(utterance);
  return text + formatter->Finish(1);
}

TEST(CaptionFormatTest, SubRip) {
  const TokenTable table = MakeTable({"\u2581two", "\u2581<b>", "\u2581zero"});
  EXPECT_EQ(Format(OutputFormat::kSrt,
                   {AllTokens(table, 1234.4), AllTokens(table, 3599999.6, 1),
                    AllTokens(table, 36000000, 2)},
                   table),
            "1\n00:00:01,234 --> 00:00:01,494\ntwo <b> zero\n\n"
            "2\n01:00:00,000 --> 01:00:00,260\ntwo <b> zero\n\n"
            "3\n10:00:00,000 --> 10:00:00,260\ntwo <b> zero\n\n");
  EXPECT_EQ(Format(OutputFormat::kSrt, {}, table), "");
}

TEST(CaptionFormatTest, WebVtt) {
  const TokenTable table = MakeTable({"\u2581two", "\u2581<b>", "\u2581A&B", "\u2581-->"});
  EXPECT_EQ(Format(OutputFormat::kVtt, {AllTokens(table), AllTokens(table, 60000, 1)}, table),
            "WEBVTT\n\n"
            "00:00:00.000 --> 00:00:00.360\ntwo &lt;b&gt; A&amp;B --&gt;\n\n"
            "00:01:00.000 --> 00:01:00.360\ntwo &lt;b&gt; A&amp;B --&gt;\n\n");
  const Utterance empty = MakeUtterance(0, UtteranceEnd::kFinish, {}, table);
  EXPECT_EQ(Format(OutputFormat::kVtt, {empty}, table), "WEBVTT\n\n");
}

TEST(CaptionFormatTest, CuesOfOneUtteranceHaveConsecutiveNumbers) {
  std::vector<std::string> names;
  for (char c = 'a'; c < 'a' + 5; ++c) names.push_back("\u2581" + std::string(30, c));
  const TokenTable table = MakeTable(names);
  const std::string text =
      Format(OutputFormat::kSrt, {AllTokens(table), AllTokens(table, 5000, 1)}, table);
  for (const char* cue :
       {"1\n00:00:00,000 --> 00:00:00,160\n", "2\n00:00:00,200 --> 00:00:00,360\n",
        "3\n00:00:00,400 --> 00:00:00,460\n", "4\n00:00:05,000 --> 00:00:05,160\n"}) {
    EXPECT_NE(text.find(cue), std::string::npos) << text;
  }
}

TEST(CaptionFormatTest, AFailedRecordingKeepsItsCues) {
  const TokenTable table = MakeTable({"\u2581two"});
  for (const OutputFormat format : {OutputFormat::kSrt, OutputFormat::kVtt}) {
    const auto formatter = MakeFormatter(format, "x", 1, table);
    EXPECT_EQ(formatter->Fail("lost"), "");
    EXPECT_NE(formatter->Add(AllTokens(table)), "");
    EXPECT_EQ(formatter->Fail("lost"), "");
  }
}

}  // namespace
}  // namespace runnel
