#include "runtime/token_table.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/timed_tokens.h"

namespace runnel {
namespace {

using testing::Timed;

// Letters: `▁` alone is a token.
TokenTable Letters() { return TokenTable("<blank> 0\n▁ 1\na 2\nb 3\nc 4\n", 5, 0, "units.txt"); }

// Word pieces as SentencePiece makes them.
TokenTable Pieces() {
  return TokenTable("<blank> 0\n▁he 1\nllo 2\n▁ 3\nworld 4\n▁grüß 5\nx▁y 6\n", 7, 0, "units.txt");
}

// Chinese characters: no word boundary anywhere.
TokenTable Characters() { return TokenTable("<blank> 0\n你 1\n好 2\n吗 3\n", 4, 0, "units.txt"); }

TokenKinds Hidden(const std::vector<int32_t>& ids) {
  TokenKinds kinds;
  for (const int32_t id : ids) kinds.special.push_back({id, TokenKind::kHidden, ""});
  return kinds;
}

std::string ErrorOf(const std::string& units, int vocab_size) {
  try {
    TokenTable(units, vocab_size, 0, "m.pt: units.txt");
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

TEST(TokenTableTest, ReadsUnitsInAnyOrder) {
  const TokenTable table("b 2\n<blank> 0\na 1", 3, 0, "units.txt");
  EXPECT_EQ(table.size(), 3);
  EXPECT_EQ(table.name(0), "<blank>");
  EXPECT_EQ(table.name(1), "a");
  EXPECT_EQ(table.name(2), "b");
  EXPECT_THROW(table.name(3), std::invalid_argument);
  EXPECT_THROW(table.name(-1), std::invalid_argument);
}

TEST(TokenTableTest, ToleratesCrLfAndEmptyLinesAtTheEnd) {
  const TokenTable table("<blank> 0\r\na 1\r\n\r\n\n", 2, 0, "units.txt");
  EXPECT_EQ(table.name(1), "a");
  EXPECT_EQ(table.Text({1, 1}), "aa");
}

TEST(TokenTableTest, TextGrowsTokenByToken) {
  const TokenTable table = Pieces();
  const std::vector<int32_t> ids = {3, 1, 2, 3, 0, 3, 5, 6, 4, 3};
  for (size_t start = 0; start <= ids.size(); ++start) {
    // From any token on, with any text before it.
    std::string text;
    std::string before;
    TextEnd end;
    for (size_t i = 0; i < ids.size(); ++i) {
      table.AppendText(ids[i], &end, i < start ? &before : &text);
    }
    EXPECT_EQ(before + text, table.Text(ids));
    EXPECT_EQ(before, table.Text({ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(start)}));
  }
  EXPECT_EQ(table.blank_id(), 0);
}

TEST(TokenTableTest, JoinsLettersAtBoundaries) {
  const TokenTable table = Letters();
  EXPECT_EQ(table.Text({}), "");
  EXPECT_EQ(table.Text({2, 3}), "ab");
  EXPECT_EQ(table.Text({2, 3, 1, 4}), "ab c");
  EXPECT_EQ(table.Text({1, 2, 1, 1, 4, 1}), "a c");  // none at the ends, never two
  EXPECT_EQ(table.Text({1, 1}), "");
  EXPECT_EQ(table.Text({0, 2, 0, 3}), "ab");  // blanks are left out
  EXPECT_THROW(table.Text({5}), std::invalid_argument);
  EXPECT_THROW(table.Text({-1}), std::invalid_argument);
}

TEST(TokenTableTest, JoinsWordPieces) {
  const TokenTable table = Pieces();
  EXPECT_EQ(table.Text({1, 2, 3, 4}), "hello world");
  EXPECT_EQ(table.Text({3, 5, 1}), "grüß he");
  EXPECT_EQ(table.Text({4, 6, 2}), "worldx yllo");
}

TEST(TokenTableTest, JoinsCharactersWithoutSpaces) {
  EXPECT_EQ(Characters().Text({1, 2, 3}), "你好吗");
}

TEST(TokenTableTest, WordsHaveTimesAndTheLowestConfidence) {
  const std::vector<Word> words = Letters().Words(Timed({1, 2, 0, 3, 1, 1, 4}));
  ASSERT_EQ(words.size(), 2U);
  EXPECT_EQ(words[0].text, "ab");
  EXPECT_EQ(words[0].start_ms, 100);  // of the letter, not of the boundary before it
  EXPECT_EQ(words[0].end_ms, 340);
  EXPECT_FLOAT_EQ(words[0].confidence, 0.6F);
  EXPECT_EQ(words[1].text, "c");
  EXPECT_EQ(words[1].start_ms, 600);
  EXPECT_EQ(words[1].end_ms, 640);
  EXPECT_FLOAT_EQ(words[1].confidence, 0.3F);
  EXPECT_TRUE(Letters().Words({}).empty());
  EXPECT_TRUE(Letters().Words(Timed({1, 0, 1})).empty());
  EXPECT_THROW(Letters().Words(Timed({9})), std::invalid_argument);
}

TEST(TokenTableTest, ABoundaryWithinASymbolPartsTwoWords) {
  const std::vector<Word> words = Pieces().Words(Timed({4, 6, 2}));
  ASSERT_EQ(words.size(), 2U);
  EXPECT_EQ(words[0].text, "worldx");
  EXPECT_EQ(words[0].end_ms, 120);  // they share the time of the token
  EXPECT_EQ(words[1].text, "yllo");
  EXPECT_EQ(words[1].start_ms, 120);
}

// Chinese and English; Thai, in which ี and ่ are written with the character before.
TEST(TokenTableTest, CharactersOfScriptsWithoutSpacesAreWords) {
  const TokenTable table("<blank> 0\n▁MUCH 1\n好 2\n▁今天 3\nABLE 4\n， 5\nที 6\n่ 7\nA好, 8\n", 9, 0,
                         "units.txt");
  const auto words = [&](const std::vector<int32_t>& ids) {
    std::vector<std::string> texts;
    for (const Word& word : table.Words(Timed(ids))) texts.push_back(word.text);
    return texts;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(words({1, 2}), (Texts{"MUCH", "好"}));
  EXPECT_EQ(words({1, 4, 2, 4, 1}), (Texts{"MUCHABLE", "好", "ABLE", "MUCH"}));
  EXPECT_EQ(words({3, 5, 2, 2}), (Texts{"今", "天", "，", "好", "好"}));
  EXPECT_EQ(words({6, 7, 6}), (Texts{"ที่", "ที"}));
  EXPECT_EQ(words({1, 8, 8}), (Texts{"MUCHA", "好", ",A", "好", ","}));
  EXPECT_EQ(table.Text({1, 2, 3, 2, 4, 1}), "MUCH好 今天好ABLE MUCH");
  // Two characters of one token share its time.
  const std::vector<Word> shared = table.Words(Timed({1, 3}));
  ASSERT_EQ(shared.size(), 3U);
  EXPECT_EQ(shared[1].start_ms, 100);
  EXPECT_EQ(shared[1].end_ms, 120);
  EXPECT_EQ(shared[2].start_ms, 120);
  EXPECT_EQ(shared[2].end_ms, 140);
  // Where no token has a boundary, tokens are words.
  const TokenTable without("<blank> 0\n今天 1\nHELLO 2\n", 3, 0, "units.txt");
  EXPECT_EQ(without.Words(Timed({1, 2, 1})).size(), 3U);
}

TEST(TokenTableTest, SpecialTokensAreNoText) {
  const std::string units =
      "<blank> 0\n▁he 1\nllo 2\n<en-US> 3\n<unk> 4\n<0x41> 5\n<|spk▁0|> 6\n[X] 7\n";
  const TokenTable by_form(units, 8, 0, "units.txt");
  EXPECT_EQ(by_form.Text({3, 1, 3, 2, 6, 1, 3}), "hello he");
  EXPECT_EQ(by_form.Text({4, 5, 7}), "<unk><0x41>[X]");
  EXPECT_FALSE(by_form.IsText(3));
  EXPECT_TRUE(by_form.IsText(4));
  EXPECT_EQ(by_form.name(3), "<en-US>");
  const std::vector<Word> words = by_form.Words(Timed({1, 3, 2, 6}));
  ASSERT_EQ(words.size(), 1U);
  EXPECT_EQ(words[0].end_ms, 240);
  EXPECT_FLOAT_EQ(words[0].confidence, 0.7F);  // of its own tokens
  EXPECT_TRUE(by_form.BeginsWord({3, 1}));
  EXPECT_FALSE(by_form.EndsWord({1, 6}));  // a boundary in a tag is none
  const TokenTable listed(units, 8, 0, "units.txt", Hidden({7, 4}));
  EXPECT_EQ(listed.Text({3, 7, 4, 1}), "<en-US> he");
  EXPECT_THROW(TokenTable(units, 8, 0, "units.txt", Hidden({8})), std::invalid_argument);
}

TEST(TokenTableTest, SpecialTokensAreShownAsWords) {
  const std::string units = "<blank> 0\n▁he 1\nllo 2\n<en-US> 3\n<EOU> 4\n";
  const TokenKinds kinds{{{3, TokenKind::kLanguage, "en-US"}, {4, TokenKind::kEnd, ""}}, {}};
  const TokenTable table(units, 5, 0, "units.txt", kinds);
  EXPECT_TRUE(table.IsEnd(4));
  EXPECT_FALSE(table.IsEnd(3));
  EXPECT_TRUE(table.has_end_tokens());
  EXPECT_FALSE(Pieces().has_end_tokens());
  const TokenTable shown = table.WithSpecialTokens();
  EXPECT_EQ(table.Text({1, 2, 3, 0, 4, 2}), "hellollo");
  EXPECT_EQ(shown.Text({1, 2, 3, 0, 4, 2}), "hello <en-US> <EOU> llo");
  ASSERT_EQ(shown.Words(Timed({1, 2, 4})).size(), 2U);
  EXPECT_EQ(shown.Words(Timed({1, 2, 4}))[1].text, "<EOU>");
  const TokenTable characters("<blank> 0\n你 1\n<EOU> 2\n", 3, 0, "units.txt",
                              TokenKinds{{{2, TokenKind::kEnd, ""}}, {}});
  EXPECT_EQ(characters.WithSpecialTokens().Text({1, 2, 1}), "你<EOU>你");
}

// That of most tokens, of equally many the later one.
TEST(TokenTableTest, LanguageOfTokens) {
  const std::string units = "<s> 0\n▁a 1\n▁a 2\nb 3\n<de> 4\n<blank> 5\n";
  const TokenKinds kinds{{{0, TokenKind::kHidden, ""}, {4, TokenKind::kLanguage, "de"}},
                         {{"en", 2}, {"es", 2}}};
  const TokenTable table(units, 6, 5, "units.txt", kinds);
  EXPECT_EQ(table.LanguageOf({}), "");
  EXPECT_EQ(table.LanguageOf({0, 0}), "");  // no text
  EXPECT_EQ(table.WithSpecialTokens().LanguageOf({0, 0, 4, 1, 1}), "en");
  EXPECT_EQ(table.LanguageOf({1, 2, 3}), "es");
  EXPECT_EQ(table.LanguageOf({1, 1, 2}), "en");
  EXPECT_EQ(table.LanguageOf({2, 1}), "en");
  EXPECT_EQ(table.LanguageOf({1, 4, 4}), "de");
  Hypothesis hypothesis;
  hypothesis.tokens = Timed({1});
  table.Complete(&hypothesis);
  EXPECT_EQ(hypothesis.language, "en");
}

TEST(TokenTableTest, PunctuationFollowsAWord) {
  const TokenTable table("<blank> 0\n. 1\n,” 2\n▁¿ 3\n's 4\n。 5\n$ 6\n▁ 7\n", 8, 0, "units.txt");
  std::vector<int32_t> found;
  for (int32_t id = 0; id < table.size(); ++id) {
    if (table.IsPunctuation(id)) found.push_back(id);
  }
  EXPECT_EQ(found, (std::vector<int32_t>{1, 2, 5}));
}

TEST(TokenTableTest, WordsJoinedAreTheText) {
  for (const std::vector<int32_t>& ids : {std::vector<int32_t>{},
                                          {1},
                                          {1, 2, 3, 4},
                                          {2, 1, 3, 3, 5, 6, 6, 0, 3},
                                          {3, 3},
                                          {6, 5, 4}}) {
    const TokenTable table = Pieces();
    std::string joined;
    for (const Word& word : table.Words(Timed(ids))) {
      joined += (joined.empty() ? "" : " ") + word.text;
    }
    EXPECT_EQ(joined, table.Text(ids));
  }
}

TEST(TokenTableTest, WithoutBoundariesEveryTokenIsAWord) {
  const std::vector<Word> words = Characters().Words(Timed({1, 0, 2}));
  ASSERT_EQ(words.size(), 2U);
  EXPECT_EQ(words[0].text, "你");
  EXPECT_EQ(words[0].end_ms, 40);
  EXPECT_EQ(words[1].text, "好");
  EXPECT_EQ(words[1].start_ms, 200);
  // A blank's name is not text, so a boundary in it does not count.
  const TokenTable table("▁ 0\nab 1\n", 2, 0, "units.txt");
  EXPECT_EQ(table.Words(Timed({1, 1})).size(), 2U);
  EXPECT_EQ(table.Text({1, 0, 1}), "abab");
}

TEST(TokenTableTest, ErrorsNameSourceLineAndWhatWasExpected) {
  EXPECT_EQ(ErrorOf("<blank> 0\na 1\n", 3),
            "m.pt: units.txt: has 2 lines, expected the 3 tokens of the model (vocab_size)");
  EXPECT_EQ(ErrorOf("<blank> 0\na 1\n", 1),
            "m.pt: units.txt: has 2 lines, expected the 1 tokens of the model (vocab_size)");
  EXPECT_EQ(ErrorOf("", 1),
            "m.pt: units.txt: has 0 lines, expected the 1 tokens of the model (vocab_size)");
  EXPECT_EQ(ErrorOf("<blank> 0\na 2\n", 2),
            "m.pt: units.txt: line 2: expected an id of 0 to 1, got 2");
  EXPECT_EQ(ErrorOf("<blank> 0\na -1\n", 2),
            "m.pt: units.txt: line 2: expected an id of 0 to 1, got -1");
  EXPECT_EQ(
      ErrorOf("<blank> 0\na 0\n", 2),
      "m.pt: units.txt: line 2: expected every id once, got 'a 0' after another line with this id");
  EXPECT_EQ(ErrorOf("<blank> 0\na 1\na 2\n", 3),
            "m.pt: units.txt: line 3: expected every token once, got 'a 2' after another line "
            "with this token");
  for (const std::string& line :
       std::vector<std::string>{"a", "a ", " 1", "a 1x", "a x", "a 99999999999999999999"}) {
    EXPECT_EQ(ErrorOf("<blank> 0\n" + line + "\n", 2),
              "m.pt: units.txt: line 2: expected 'token id', got '" + line + "'");
  }
  EXPECT_EQ(ErrorOf("<blank> 0\n\na 1\n", 3),
            "m.pt: units.txt: line 2: expected 'token id', got ''");
  for (const std::string& line :
       std::vector<std::string>{"a b 1", "a  1", "a\t1", "a 1 ", "a\r 1", std::string("\0 1", 3)}) {
    const std::string error = ErrorOf("<blank> 0\n" + line + "\n", 2);
    EXPECT_EQ(error.find("m.pt: units.txt: line 2: expected "), 0U) << error;
    EXPECT_EQ(error.find_first_of("\r\n\t"), std::string::npos) << error;
  }
  EXPECT_EQ(ErrorOf("<blank> 0\n\xFF 1\n", 2),
            "m.pt: units.txt: line 2: expected UTF-8, got other bytes");
  EXPECT_THROW(TokenTable("a 0\n", 1, 1, "units.txt"), std::invalid_argument);
  EXPECT_THROW(TokenTable("a 0\n", 0, 0, "units.txt"), std::invalid_argument);
}

}  // namespace
}  // namespace runnel
