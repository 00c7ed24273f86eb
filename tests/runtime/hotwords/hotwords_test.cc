// The list: its format, its errors and its text for snapshots.
#include "runtime/hotwords.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/hotwords/hotword_automaton.h"
#include "runtime/token_table.h"
#include "tests/support/error_message.h"
#include "tests/support/hotword_bonus.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;

// A token for each of `names`, after the blank.
std::string Units(const std::vector<std::string>& names) {
  std::string units = "<blank> 0\n";
  for (size_t i = 0; i < names.size(); ++i) {
    units += names[i] + " " + std::to_string(i + 1) + "\n";
  }
  return units;
}

TokenTable Table(const std::vector<std::string>& names) {
  return TokenTable(Units(names), static_cast<int>(names.size()) + 1, 0, "units.txt");
}

// Also a token for each byte.
TokenTable BytesAnd(std::vector<std::string> names) {
  TokenKinds kinds;
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
    names.emplace_back(name);
    kinds.special.push_back({static_cast<int32_t>(names.size()), TokenKind::kByte, ""});
  }
  return TokenTable(Units(names), static_cast<int>(names.size()) + 1, 0, "units.txt", kinds);
}

TokenTable Letters() { return Table({"▁", "a", "b", "c", ":", "#", "1", "é", "<unk>"}); }

TokenTable Characters() { return Table({"中", "国", "人", "<unk>"}); }

std::vector<std::string> Phrases(const Hotwords& hotwords) {
  std::vector<std::string> phrases;
  for (size_t i = 0; i < hotwords.num_phrases(); ++i) phrases.push_back(hotwords.phrase(i));
  return phrases;
}

std::string ErrorOf(const std::string& text, const TokenTable& tokens) {
  return ErrorMessage<std::runtime_error>([&] { Hotwords(text, tokens, 1, "names.txt"); });
}

double BonusOf(const Hotwords& hotwords, const std::vector<int32_t>& tokens) {
  return testing::WholeBonus(hotwords.automaton(), tokens);
}

using Strings = std::vector<std::string>;

TEST(HotwordsTest, PhrasesAndScores) {
  const Hotwords hotwords("ab c\n\ta \t b :2\nc :-0.5\n", Letters(), 1.5F, "names.txt");
  EXPECT_EQ(Phrases(hotwords), (Strings{"ab c", "a b", "c"}));
  EXPECT_EQ(hotwords.text(), "ab c :1.5\na b :2\nc :-0.5\n");
  EXPECT_EQ(hotwords.vocab_size(), 10);
  EXPECT_EQ(hotwords.blank_id(), 0);
  EXPECT_EQ(BonusOf(hotwords, {1, 2, 3, 1, 4}), 3 * 1.5 - 0.5);
  EXPECT_EQ(BonusOf(hotwords, {2, 1, 3}), 2 * 2);
  EXPECT_THROW(hotwords.phrase(3), std::out_of_range);
}

TEST(HotwordsTest, CommentsEmptyLinesCrLfAndByteOrderMark) {
  const Hotwords hotwords("\xEF\xBB\xBF# names\r\n\r\na :2\r\n \t\n#b\n  c  ", Letters(), 1,
                          "names.txt");
  EXPECT_EQ(hotwords.text(), "a :2\nc :1\n");
}

TEST(HotwordsTest, AScoreIsTheLastFieldAfterAPhrase) {
  const auto text = [](const std::string& line) {
    return Hotwords(line, Letters(), 1, "names.txt").text();
  };
  EXPECT_EQ(text("a:1"), "a:1 :1\n");
  EXPECT_EQ(text(":1"), ":1 :1\n");
  EXPECT_EQ(text(":a"), ":a :1\n");
  EXPECT_EQ(text(":1 :2"), ":1 :2\n");
  EXPECT_EQ(text("a :b :2"), "a :b :2\n");
  EXPECT_EQ(text("a : b"), "a : b :1\n");
  EXPECT_EQ(text("a▁:1"), "a :1 :1\n");
  EXPECT_EQ(text("a\t:1e1"), "a :10\n");
  EXPECT_EQ(text("a :.25 "), "a :0.25\n");
  EXPECT_EQ(text("a :0"), "a :0\n");
  EXPECT_EQ(text("a :-100\nb :100"), "a :-100\nb :100\n");
  EXPECT_EQ(text(" #a\n"), " #a :1\n");
}

TEST(HotwordsTest, WhiteSpaceAndBoundariesAreNormalised) {
  EXPECT_EQ(Phrases(Hotwords("▁a▁▁b  ▁ c▁\n", Letters(), 1, "names.txt")), (Strings{"a b c"}));
  EXPECT_EQ(Phrases(Hotwords("中  国 人\n", Characters(), 1, "names.txt")), (Strings{"中 国 人"}));
}

TEST(HotwordsTest, TheLargerScoreOfEqualPhrasesCounts) {
  EXPECT_EQ(Hotwords("a b\nA▁B :2\na b :1.5\nc :-2\nC :-1\n", Letters(), 1, "names.txt").text(),
            "a b :2\nc :-1\n");
  EXPECT_EQ(Hotwords("中 国\n中国 :2\n中国 :1\n", Characters(), 1, "names.txt").text(),
            "中 国 :2\n");
}

TEST(HotwordsTest, LetterCase) {
  const auto text = [](const std::string& list, const Strings& tokens) {
    return Hotwords(list, Table(tokens), 1, "names.txt").text();
  };
  // Phrases are shown as they are listed.
  const Strings lower = {"▁", "a", "é", "ω", "ж", "<UNK>", "中"};
  EXPECT_EQ(text("aÉΩЖ中\nAéωж中 :2\n", lower), "aÉΩЖ中 :2\n");
  EXPECT_EQ(BonusOf(Hotwords("AÉ", Table(lower), 1, "names.txt"), {1, 2, 3}), 2);
  const Strings upper = {"▁", "A", "É", "Ω", "Ж", "<unk>", "中"};
  EXPECT_EQ(text("aÉΩЖ中\nAéωж中 :2\n", upper), "aÉΩЖ中 :2\n");
  EXPECT_EQ(BonusOf(Hotwords("aé", Table(upper), 1, "names.txt"), {1, 2, 3}), 2);
  // With letters of both cases, phrases are what they are.
  EXPECT_EQ(text("a A\nA A\nA a\n", {"▁", "a", "A"}), "a A :1\nA A :1\nA a :1\n");
}

TEST(HotwordsTest, TextMakesAnEqualObject) {
  const std::string list =
      "a b :0.1\n #a\nb▁▁c :1e-7\n:1 :-99.99999\nb :100\nc :3.4028236e-5\n \xEF\xBB\xBF :1e-42\n";
  const TokenTable tokens = Table({"▁", "a", "b", "c", ":", "#", "1", "\xEF\xBB\xBF"});
  const Hotwords first(list, tokens, 0.3F, "names.txt");
  for (const float other_default : {-100.0F, 0.0F, 0.3F}) {
    const Hotwords second(first.text(), tokens, other_default, "snapshot");
    EXPECT_EQ(second.text(), first.text());
    EXPECT_EQ(Phrases(second), Phrases(first));
    for (int32_t a = 1; a < tokens.size(); ++a) {
      for (int32_t b = 1; b < tokens.size(); ++b) {
        for (int32_t c = 1; c < tokens.size(); ++c) {
          EXPECT_EQ(BonusOf(second, {a, b, c}), BonusOf(first, {a, b, c}));
        }
      }
    }
  }
  // A byte order mark that begins the first phrase is not taken for that of the text.
  const Hotwords marked(" \xEF\xBB\xBF\n", tokens, 1, "names.txt");
  EXPECT_EQ(Hotwords(marked.text(), tokens, 1, "names.txt").text(), marked.text());
}

TEST(HotwordsTest, BadLinesAreNamed) {
  EXPECT_EQ(ErrorOf("a\na\xFF\n", Letters()), "names.txt:2: expected UTF-8, got other bytes");
  EXPECT_EQ(ErrorOf(std::string("a\0\n", 3), Letters()),
            "names.txt:1: expected text, got control characters");
  EXPECT_EQ(ErrorOf("a\x7F\n", Letters()), "names.txt:1: expected text, got control characters");
  EXPECT_EQ(ErrorOf(std::string(70000, 'a'), Letters()),
            "names.txt:1: longer than 65536 bytes, expected 'PHRASE' or 'PHRASE :SCORE'");
  EXPECT_EQ(ErrorOf(std::string(1025, 'a'), Letters()),
            "names.txt:1: a phrase of 1025 bytes; expected at most 1024");
  EXPECT_EQ(Hotwords(std::string(1024, 'a'), Letters(), 1, "names.txt").num_phrases(), 1U);
  for (const TokenTable& tokens : {Letters(), Characters()}) {
    EXPECT_EQ(ErrorOf("▁ ▁▁ :2\n", tokens),
              "names.txt:1: '▁ ▁▁' consists of word boundaries only; expected a phrase");
  }
  for (const char* score : {":", ":abc", ":1x", ":nan", ":inf", ":-inf", ":1e9", ":100.1", ":-101",
                            ":1,5", ":0x1", "::1"}) {
    EXPECT_EQ(
        ErrorOf(std::string("a\n\na ") + score + "\n", Letters()),
        std::string("names.txt:3: expected a score of -100 to 100 after ':', got '") + score + "'");
  }
  for (const char* text : {"", "\n\r\n", "# a\n", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(ErrorOf(text, Letters()), "names.txt: lists no phrases");
  }
  EXPECT_EQ(ErrorOf(std::string(Hotwords::kMaxTextSize + 1, '\n'), Letters()),
            "names.txt: larger than 8388608 bytes, expected a list of phrases");
}

// A list within the limit whose text() would be above it.
TEST(HotwordsTest, TheLimitHoldsWithAScoreForEveryPhrase) {
  const Strings digits = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
  std::string list;
  for (int i = 0; i < 600000; ++i) list += std::to_string(i) + "\n";
  ASSERT_LE(list.size(), Hotwords::kMaxTextSize);
  EXPECT_EQ(ErrorMessage<std::runtime_error>(
                [&] { Hotwords(list, Table(digits), 0.123456789F, "names.txt"); }),
            "names.txt: larger than 8388608 bytes, expected a list of phrases");
}

TEST(HotwordsTest, PhrasesThatTheTokensCannotSpell) {
  const auto needs = [](const std::string& phrase, const std::string& part) {
    return "names.txt:1: '" + phrase + "' needs tokens that spell '" + part +
           "', which the model does not have";
  };
  EXPECT_EQ(ErrorOf("abd\n", Letters()), needs("abd", "d"));
  EXPECT_EQ(ErrorOf("Ab aDc b :2\n", Letters()), needs("Ab aDc b", "dc"));
  EXPECT_EQ(ErrorOf("a <unk>\n", Letters()), needs("a <unk>", "<unk>"));
  EXPECT_EQ(ErrorOf("中 德国\n", Characters()), needs("中 德国", "德国"));
}

// The vocabulary has all bytes of the phrase, in tokens that do not fit together.
TEST(HotwordsTest, SpellingIsCheckedByTokens) {
  const auto can_spell = [](const std::string& phrase, const Strings& tokens) {
    try {
      const Hotwords hotwords(phrase, Table(tokens), 1, "names.txt");
      return true;
    } catch (const std::runtime_error& error) {
      EXPECT_TRUE(Contains(error.what(), "'" + phrase + "' needs tokens that spell '"));
      return false;
    }
  };
  const Strings pieces = {"▁new", "▁y", "ork", "▁the▁", "k", "or", "▁a▁b", "x▁y"};
  for (const char* phrase : {"new york", "nework", "the york", "the the new", "yorork", "a b",
                             "a bk", "ork", "york the york", "the orx york"}) {
    EXPECT_TRUE(can_spell(phrase, pieces)) << phrase;
  }
  for (const char* phrase : {"yo", "a", "b", "new y ork x", "theork", "x", "or x", "ne"}) {
    EXPECT_FALSE(can_spell(phrase, pieces)) << phrase;
  }
  // No token ends with a boundary: a word that no token begins is at the start of the text only.
  EXPECT_FALSE(can_spell("ork", {"▁new", "ork"}));
  EXPECT_TRUE(can_spell("new", {"▁new", "ork"}));
  EXPECT_TRUE(can_spell("ork", {"▁new", "ork", "▁"}));
  // The same for the ends of words.
  EXPECT_FALSE(can_spell("ork", {"new▁", "ork"}));
  EXPECT_TRUE(can_spell("orknew", {"new▁", "ork"}));
  // Tokens of special meaning, and the blank, spell nothing.
  EXPECT_FALSE(can_spell("<blank>", {"a", "<", ">"}));
  EXPECT_FALSE(can_spell("ab", {"<ab>"}));
}

TEST(HotwordsTest, SpecialTokensArePassedOver) {
  const TokenTable tokens = Table({"▁new", "<en-US>", "▁york", "<unk>"});
  const Hotwords hotwords("new york\n", tokens, 1, "names.txt");
  EXPECT_EQ(hotwords.automaton().Matches({1, 3}).size(), 1U);
  EXPECT_EQ(hotwords.automaton().Matches({2, 1, 2, 2, 3, 2}).size(), 1U);
  EXPECT_EQ(hotwords.automaton().Matches({1, 4, 3}).size(), 0U);
}

TEST(HotwordsTest, DefaultScoreOutOfRange) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const float score : {100.5F, -101.0F, std::numeric_limits<float>::infinity(), kNan}) {
    EXPECT_TRUE(Contains(
        ErrorMessage<std::invalid_argument>([&] { Hotwords("a", Letters(), score, "names.txt"); }),
        "; expected a score of -100 to 100"));
  }
}

TEST(HotwordsTest, ReadsAFile) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("names.txt");
  std::ofstream(path) << "a\nb :2\n";
  EXPECT_EQ(Hotwords::Read(path, Letters(), 1)->text(), "a :1\nb :2\n");
  const auto error = [](const std::string& name) {
    return ErrorMessage<std::runtime_error>([&] { Hotwords::Read(name, Letters(), 1); });
  };
  EXPECT_EQ(error(folder.File("none")),
            folder.File("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(error(folder.File("")), folder.File("") + ": cannot read: Is a directory");
  EXPECT_EQ(error("/dev/zero"), "/dev/zero: larger than 8388608 bytes, expected a list of phrases");
  std::ofstream(path) << "a\nx\n";
  EXPECT_TRUE(Contains(error(path), path + ":2: 'x' needs tokens that spell 'x'"));
}

// One capital stands for several small letters: all of them match.
TEST(HotwordsTest, LettersWithOneCapital) {
  const TokenTable lower = Table({"▁", "ο", "ς", "σ", "ß", "s", "ı", "i", "<0xCF>"});
  const auto bonus = [&](const std::string& phrase, const std::vector<int32_t>& tokens) {
    return BonusOf(Hotwords(phrase + " :1\n", lower, 1, "names.txt"), tokens);
  };
  for (const char* phrase : {"ΟΣ", "ος", "οσ", "Ος"}) {
    EXPECT_EQ(bonus(phrase, {1, 2, 3}), 2) << phrase;  // "ος"
    EXPECT_EQ(bonus(phrase, {1, 2, 4}), 2) << phrase;  // "οσ"
  }
  for (const char* phrase : {"ẞ", "ß", "SS", "ss"}) {
    EXPECT_EQ(bonus(phrase, {1, 5}), 2) << phrase;
    EXPECT_EQ(bonus(phrase, {1, 6, 6}), 2) << phrase;
  }
  for (const char* phrase : {"I", "ı", "İ", "i"}) {
    EXPECT_EQ(bonus(phrase, {1, 7}), 1) << phrase;
    EXPECT_EQ(bonus(phrase, {1, 8}), 1) << phrase;
  }
  const TokenTable upper = Table({"▁", "Ο", "Σ", "S", "I", "İ"});
  const auto upper_bonus = [&](const std::string& phrase, const std::vector<int32_t>& tokens) {
    return BonusOf(Hotwords(phrase + " :1\n", upper, 1, "names.txt"), tokens);
  };
  EXPECT_EQ(upper_bonus("ος", {1, 2, 3}), 2);
  EXPECT_EQ(upper_bonus("ß", {1, 4, 4}), 2);
  EXPECT_EQ(upper_bonus("ı", {1, 5}), 1);
  EXPECT_EQ(upper_bonus("i", {1, 6}), 1);
  // In letters of both cases each form is a letter of its own.
  const TokenTable both = Table({"▁", "Ο", "Σ", "ς"});
  EXPECT_EQ(BonusOf(Hotwords("ΟΣ :1\n", both, 1, "names.txt"), {1, 2, 4}), 0);
}

TEST(HotwordsTest, DecomposedTextIsNamed) {
  const std::string note = "; the text is decomposed (NFD), expected composed characters (NFC)";
  EXPECT_TRUE(Contains(ErrorOf("ae\u0301\n", Letters()), note));
  EXPECT_FALSE(Contains(ErrorOf("ax\n", Letters()), "decomposed"));
  // A mark that no composed character has is text as any other.
  EXPECT_FALSE(Contains(ErrorOf("ɔ\u0301\n", Letters()), "decomposed"));
  const TokenTable decomposed = Table({"▁", "e", "\u0301"});
  EXPECT_EQ(BonusOf(Hotwords("e\u0301 :1\n", decomposed, 1, "names.txt"), {1, 2, 3}), 2);
}

TEST(HotwordsTest, DecomposedTextIsNotSpelledByBytes) {
  const TokenTable bytes = BytesAnd({"▁", "e", "é"});
  for (const std::string phrase : {"e\u0301", "a e\u0301", "か\u3099", "\u1112\u1161"}) {
    EXPECT_TRUE(Contains(ErrorOf(phrase + "\n", bytes), "which only bytes of the model spell; the"))
        << phrase;
  }
  for (const std::string phrase : {"é", "ö", "が", "하", "ɔ\u0301", "مُحَمَّد", "हिन्दी", "שָׁלוֹם"}) {
    EXPECT_EQ(Hotwords(phrase + "\n", bytes, 1, "names.txt").num_phrases(), 1U) << phrase;
  }
  const TokenTable decomposed = BytesAnd({"▁", "e", "\u0301"});
  EXPECT_EQ(Hotwords("e\u0301\n", decomposed, 1, "names.txt").num_phrases(), 1U);
}

}  // namespace
}  // namespace runnel
