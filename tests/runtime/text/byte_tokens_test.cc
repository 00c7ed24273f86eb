// Tokens that are bytes of UTF-8, and vocabularies of several languages.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/hotwords/hotword_automaton.h"
#include "runtime/text/byte_text.h"
#include "runtime/text/utf8.h"
#include "runtime/token_table.h"
#include "runtime/word_list.h"
#include "tests/support/timed_tokens.h"

namespace runnel {
namespace {

using testing::Timed;

using Ids = std::vector<int32_t>;

constexpr int kFirstByte = 5;  // the id of <0x00>

// "▁a", "b", "▁", a hidden tag, then all bytes.
TokenTable Table() {
  std::string units = "<blank> 0\n▁a 1\nb 2\n▁ 3\n<s> 4\n";
  TokenKinds kinds{{{4, TokenKind::kHidden, ""}}, {}};
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", static_cast<unsigned>(byte));
    units += std::string(name) + " " + std::to_string(kFirstByte + byte) + "\n";
    kinds.special.push_back({kFirstByte + byte, TokenKind::kByte, ""});
  }
  return {units, kFirstByte + 256, 0, "units.txt", kinds};
}

Ids BytesOf(const std::string& text) {
  Ids ids;
  for (const char c : text) ids.push_back(kFirstByte + static_cast<unsigned char>(c));
  return ids;
}

Ids operator+(Ids a, const Ids& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string Joined(const std::vector<Word>& words) {
  std::string text;
  for (const Word& word : words) text += word.text;
  return text;
}

std::string WithoutSpaces(const std::string& text) {
  std::string letters;
  for (const char c : text) {
    if (c != ' ') letters += c;
  }
  return letters;
}

TEST(ByteTokensTest, BytesFormCharacters) {
  const TokenTable table = Table();
  EXPECT_EQ(table.Text(Ids{1} + BytesOf("ä") + Ids{2, 3} + BytesOf("你😀")), "aäb 你😀");
  EXPECT_EQ(table.Text(BytesOf("A z")), "A z");
  EXPECT_EQ(table.Text(Ids{1} + BytesOf("\n\x7F") + Ids{2}), "a b");  // control characters
  EXPECT_TRUE(table.IsByte(kFirstByte));
  EXPECT_FALSE(table.IsByte(1));
  EXPECT_TRUE(table.has_word_boundaries());
}

// As SentencePiece: one U+FFFD for each byte that is of no character.
TEST(ByteTokensTest, OtherBytesAreReplaced) {
  const TokenTable table = Table();
  const std::string fffd(kReplacementCharacter);
  EXPECT_EQ(table.Text(BytesOf("\xE4\xBD")), fffd + fffd);
  EXPECT_EQ(table.Text(BytesOf("\xE4\xBD") + Ids{2}), fffd + fffd + "b");
  EXPECT_EQ(table.Text(BytesOf("\xE4\xBD") + Ids{4} + BytesOf("\xA0")), fffd + fffd + fffd);
  EXPECT_EQ(table.Text(BytesOf("\xC0\x80\xFF")), fffd + fffd + fffd);
  EXPECT_EQ(table.Text(BytesOf("\xED\xA0\x80")), fffd + fffd + fffd);  // a surrogate
  EXPECT_EQ(table.Text(BytesOf("\xE4\xE4\xBD\xA0")), fffd + "你");
  EXPECT_EQ(table.Text(BytesOf("\xF0\x9F\x41")), fffd + fffd + "A");
}

TEST(ByteTokensTest, UnfinishedCharactersWait) {
  const TokenTable table = Table();
  std::string text;
  TextEnd end;
  std::vector<std::string> seen;
  for (const int32_t id : Ids{1} + BytesOf("你\xF0\x9F")) {
    table.AppendText(id, &end, &text);
    seen.push_back(text);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "a", "a", "a你", "a你", "a你"}));
  TokenTable::FinishText(&end, &text);
  EXPECT_EQ(text, "a你\uFFFD\uFFFD");
  Hypothesis hypothesis;
  hypothesis.tokens = Timed(Ids{1} + BytesOf("你\xF0\x9F"));
  table.Complete(&hypothesis, UnfinishedCharacter::kLeaveOut);
  EXPECT_EQ(hypothesis.text, "a你");
  EXPECT_EQ(Joined(hypothesis.words), "a你");
  table.Complete(&hypothesis);
  EXPECT_EQ(hypothesis.text, "a你\uFFFD\uFFFD");
  EXPECT_EQ(Joined(hypothesis.words), "a你\uFFFD\uFFFD");
}

// A character lasts from its first byte to its last one.
TEST(ByteTokensTest, WordsHaveTheTimesOfAllBytes) {
  const std::vector<Word> words =
      Table().Words(Timed(Ids{1} + BytesOf("é") + Ids{3} + BytesOf("é")));
  ASSERT_EQ(words.size(), 2U);
  EXPECT_EQ(words[0].text, "aé");
  EXPECT_EQ(words[0].start_ms, 0);
  EXPECT_EQ(words[0].end_ms, 240);
  EXPECT_FLOAT_EQ(words[0].confidence, 0.7F);
  EXPECT_EQ(words[1].text, "é");
  EXPECT_EQ(words[1].start_ms, 400);
  EXPECT_EQ(words[1].end_ms, 540);
}

// The text grows by whole characters, whatever the tokens, and does not depend on the steps in
// which it grows; the words are its text.
TEST(ByteTokensTest, RandomTokens) {
  const TokenTable table = Table();
  const std::string bytes = "ä你😀a \xE4\xF0\x9F\xED\xA0\x80\xC0\xFF";
  std::mt19937 random(28);
  for (int round = 0; round < 2000; ++round) {
    Ids ids;
    for (int i = 0; i < 12; ++i) {
      const auto kind = random() % 6;
      if (kind == 0) {
        ids.push_back(1 + static_cast<int32_t>(random() % 4));
      } else {
        const size_t begin = random() % bytes.size();
        ids = ids + BytesOf(bytes.substr(begin, 1 + random() % 4));
      }
    }
    std::string text;
    TextEnd end;
    for (size_t i = 0; i < ids.size(); ++i) {
      const std::string before = text;
      table.AppendText(ids[i], &end, &text);
      ASSERT_TRUE(IsUtf8(text)) << round;
      ASSERT_EQ(text.substr(0, before.size()), before);
      ASSERT_LE(end.bytes.size(), 3U);
      std::string whole = text;
      TextEnd whole_end = end;
      TokenTable::FinishText(&whole_end, &whole);
      const Ids part(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      ASSERT_EQ(whole, table.Text(part)) << round;
      ASSERT_EQ(Joined(table.Words(Timed(part))), WithoutSpaces(whole)) << round;
      ASSERT_EQ(Joined(table.Words(Timed(part), UnfinishedCharacter::kLeaveOut)),
                WithoutSpaces(text))
          << round;
    }
  }
}

TEST(ByteTokensTest, NamesTellTheByte) {
  const auto error = [](const std::string& name) -> std::string {
    try {
      TokenTable("<blank> 0\n" + name + " 1\n", 2, 0, "units.txt",
                 TokenKinds{{{1, TokenKind::kByte, ""}}, {}});
    } catch (const std::runtime_error& caught) {
      return caught.what();
    }
    return "";
  };
  EXPECT_EQ(error("<0xe4>"), "");
  for (const char* name : {"<0x4>", "<0xG4>", "<0x+4>", "<0x-1>", "0xE4", "<0xE4E>"}) {
    EXPECT_EQ(error(name), "units.txt: the token 1 stands for a byte (" + std::string(name) +
                               "); expected a name such as <0xE4>");
  }
}

// Bytes spell a phrase that no other tokens spell, and a phrase may have both.
TEST(ByteTokensTest, SpellHotwords) {
  const TokenTable table = Table();
  const Hotwords hotwords("aéb\n", table, 2.0F, "hotwords.txt");
  const auto matches = hotwords.automaton().Matches(Ids{1} + BytesOf("é") + Ids{2, 3});
  ASSERT_EQ(matches.size(), 1U);
  EXPECT_EQ(matches[0].first_token, 0U);
  EXPECT_EQ(matches[0].last_token, 3U);
  EXPECT_TRUE(hotwords.automaton().Matches(Ids{1} + BytesOf("è") + Ids{2, 3}).empty());
}

TEST(LanguageVocabulariesTest, MayHaveEqualTokens) {
  const std::string units = "<unk> 0\n▁a 1\nb 2\n<unk> 3\n▁a 4\nc 5\n<blank> 6\n";
  const TokenKinds kinds{{}, {{"en", 3}, {"es", 3}}};
  const TokenTable table(units, 7, 6, "units.txt", kinds);
  EXPECT_EQ(table.Text({1, 2, 4, 5}), "ab ac");
  EXPECT_EQ(table.num_vocabularies(), 2);
  EXPECT_EQ(table.VocabularyOf(2), 0);
  EXPECT_EQ(table.VocabularyOf(3), 1);
  EXPECT_FALSE(table.VocabularyOf(6).has_value());
  EXPECT_THROW(TokenTable(units, 7, 6, "units.txt"), std::runtime_error);
  EXPECT_THROW(TokenTable(units, 7, 6, "units.txt", TokenKinds{}), std::runtime_error);
  EXPECT_THROW(TokenTable(units, 7, 6, "units.txt", TokenKinds{{}, {{"en", 4}, {"es", 2}}}),
               std::runtime_error);  // <unk> twice in the first one
  EXPECT_THROW(TokenTable(units, 7, 6, "units.txt", TokenKinds{{}, {{"en", 4}, {"es", 4}}}),
               std::invalid_argument);
}

// A word may be spelled in each language that has its tokens.
TEST(LanguageVocabulariesTest, WordLists) {
  const TokenTable table("▁a 0\nb 1\n▁a 2\nb 3\nc 4\n<blank> 5\n", 6, 5, "units.txt",
                         TokenKinds{{}, {{"en", 2}, {"es", 3}}});
  const WordList list("ab ▁a b\nac ▁a c\n", table, "words.txt");
  EXPECT_THROW(WordList("abc ▁a b d\n", table, "words.txt"), std::runtime_error);
  EXPECT_THROW(WordList("ab ▁a <blank>\n", table, "words.txt"), std::runtime_error);
}

}  // namespace
}  // namespace runnel
