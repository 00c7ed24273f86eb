#include "runtime/word_list.h"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "runtime/text/word_tree.h"
#include "runtime/token_table.h"
#include "tests/support/error_message.h"
#include "tests/support/temporary_folder.h"

namespace runnel {
namespace {

using testing::Contains;
using testing::ErrorMessage;

// Letters: `▁` alone is a token.
TokenTable Letters() {
  return TokenTable("<blank> 0\n▁ 1\na 2\nb 3\nc 4\nü 5\n<unk> 6\n", 7, 0, "units.txt");
}

// Word pieces as SentencePiece makes them; single letters are among them.
TokenTable Pieces() {
  return TokenTable("▁a 0\nb 1\n▁ab 2\nc 3\n▁ 4\na 5\n<blank> 6\n", 7, 6, "units.txt");
}

// Chinese characters: no word boundary anywhere.
TokenTable Characters() { return TokenTable("<blank> 0\n中 1\n国 2\n人 3\n", 4, 0, "units.txt"); }

// Every complete sequence of at most `max_length` tokens, in order.
void AddComplete(const WordTree& words, const WordTree::Nodes& nodes, size_t max_length,
                 std::vector<int32_t>* ids, std::vector<std::vector<int32_t>>* found) {
  if (WordTree::IsComplete(nodes)) found->push_back(*ids);
  if (ids->size() == max_length) return;
  std::vector<int32_t> tokens;
  words.TokensAfter(nodes, &tokens);
  for (const int32_t token : tokens) {
    const WordTree::Nodes next = words.Next(nodes, token);
    EXPECT_EQ(words.CompletesWord(nodes, token), WordTree::IsComplete(next));
    ids->push_back(token);
    AddComplete(words, next, max_length, ids, found);
    ids->pop_back();
  }
}

std::vector<std::vector<int32_t>> Complete(const WordList& word_list, size_t max_length) {
  std::vector<std::vector<int32_t>> found;
  std::vector<int32_t> ids;
  AddComplete(word_list.tree(), WordTree::Start(), max_length, &ids, &found);
  return found;
}

using Sequences = std::vector<std::vector<int32_t>>;

TEST(WordListTest, SpellsByCharactersAfterABoundary) {
  const WordList word_list("ab\nü\n", Letters(), "words.txt");
  EXPECT_EQ(Complete(word_list, 5),
            (Sequences{{}, {1, 2, 3}, {1, 2, 3, 1, 5}, {1, 5}, {1, 5, 1, 2, 3}, {1, 5, 1, 5}}));
  EXPECT_EQ(word_list.tree().num_nodes(), 5U);  // root, ▁, a, b, ü
  EXPECT_EQ(word_list.vocab_size(), 7);
  EXPECT_EQ(word_list.blank_id(), 0);
}

TEST(WordListTest, SpellsByCharactersAlone) {
  const WordList word_list("中国\n", Characters(), "words.txt");
  EXPECT_EQ(Complete(word_list, 4), (Sequences{{}, {1, 2}, {1, 2, 1, 2}}));
}

TEST(WordListTest, SpellingsGivenAsUnits) {
  // Two spellings of one word, one of them twice, and a word with which another begins.
  const WordList word_list("ab ▁ab\nab\t▁a  b \nab ▁ab\nabc ▁ab c\n", Pieces(), "words.txt");
  EXPECT_EQ(Complete(word_list, 2), (Sequences{{}, {0, 1}, {2}, {2, 2}, {2, 3}}));
  EXPECT_EQ(word_list.vocab_size(), 7);
  EXPECT_EQ(word_list.blank_id(), 6);
}

TEST(WordListTest, BoundariesAtTheEndsOfWords) {
  const WordList word_list("ab a b ▁\nc c ▁", Letters(), "words.txt");
  EXPECT_EQ(Complete(word_list, 3), (Sequences{{}, {2, 3, 1}, {4, 1}}));
}

TEST(WordListTest, ABoundaryWithinAWordIsASpace) {
  EXPECT_EQ(Complete(WordList("a▁b\n", Letters(), "words.txt"), 4), (Sequences{{}, {1, 2, 1, 3}}));
  EXPECT_EQ(Complete(WordList("▁a▁b ▁ a ▁ b\n", Letters(), "words.txt"), 4),
            (Sequences{{}, {1, 2, 1, 3}}));
}

TEST(WordListTest, WordsThatCanBeCutDifferently) {
  const WordList word_list("中\n中国\n国人\n人\n", Characters(), "words.txt");
  EXPECT_EQ(Complete(word_list, 3),
            (Sequences{{},        {1},       {1, 1},    {1, 1, 1}, {1, 1, 2}, {1, 1, 3},
                       {1, 2},    {1, 2, 1}, {1, 2, 3}, {1, 3},    {1, 3, 1}, {1, 3, 3},
                       {2, 3},    {2, 3, 1}, {2, 3, 3}, {3},       {3, 1},    {3, 1, 1},
                       {3, 1, 2}, {3, 1, 3}, {3, 2, 3}, {3, 3},    {3, 3, 1}, {3, 3, 3}}));
}

TEST(WordListTest, CommentsEmptyLinesCrLfAndByteOrderMark) {
  const WordList word_list("\xEF\xBB\xBF# the words\r\n\r\na\r\n \t\n#b\n  c  ", Letters(),
                           "words.txt");
  EXPECT_EQ(Complete(word_list, 2), (Sequences{{}, {1, 2}, {1, 4}}));
}

TEST(WordListTest, BadLinesAreNamed) {
  const auto error = [](const std::string& text, const TokenTable& tokens) {
    return ErrorMessage<std::runtime_error>([&] { WordList(text, tokens, "words.txt"); });
  };
  EXPECT_TRUE(Contains(error("ae\u0301\n", Letters()), "the text is decomposed (NFD)"));
  EXPECT_EQ(error("a\nabd\n", Letters()),
            "words.txt:2: 'abd' needs the token 'd', which the model does not have");
  EXPECT_EQ(error("A\n", Letters()),
            "words.txt:1: 'A' needs the token 'A', which the model does not have");
  EXPECT_EQ(error("a ▁a", Letters()),
            "words.txt:1: 'a' needs the token '▁a', which the model does not have");
  EXPECT_EQ(error("\n\na ▁ <blank> a\n", Letters()),
            "words.txt:3: 'a' has the blank, '<blank>', among its tokens; a spelling has none");
  EXPECT_EQ(error("▁\n", Letters()),
            "words.txt:1: '▁' consists of word boundaries only; expected a word");
  EXPECT_EQ(error("ab ▁ a c\n", Letters()),
            "words.txt:1: expected tokens that spell 'ab', got tokens that spell 'ac'");
  EXPECT_EQ(error("a▁b ▁ a b\n", Letters()),
            "words.txt:1: expected tokens that spell 'a b', got tokens that spell 'ab'");
  EXPECT_EQ(error("ab\n", Pieces()),
            "words.txt:1: 'ab' has no tokens, and this model's are not single characters ('▁a'): "
            "expected 'WORD token token ...'");
  EXPECT_EQ(error("a\na\xFF\n", Letters()), "words.txt:2: expected UTF-8, got other bytes");
  EXPECT_EQ(error(std::string("a\0\n", 3), Letters()),
            "words.txt:1: expected text, got control characters");
  EXPECT_EQ(error(std::string(70000, 'a'), Letters()),
            "words.txt:1: longer than 65536 bytes, expected 'WORD' or 'WORD token token ...'");
  EXPECT_EQ(error("ab ▁a b\nc c\n", Pieces()),
            "words.txt:2: expected all words to begin with a word boundary (▁) or all to end with "
            "one, else words run together");
  EXPECT_TRUE(Contains(error("a ▁ a\nb b ▁\n", Letters()), "words.txt:2: expected all words to"));
  for (const char* text : {"", "\n\r\n", "# a\n", "\xEF\xBB\xBF"}) {
    EXPECT_EQ(error(text, Letters()), "words.txt: lists no words");
  }
}

TEST(WordListTest, ReadsAFile) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.File("words.txt");
  std::ofstream(path) << "a\nb\n";
  EXPECT_EQ(Complete(*WordList::Read(path, Letters()), 2), (Sequences{{}, {1, 2}, {1, 3}}));
  const auto error = [](const std::string& name) {
    return ErrorMessage<std::runtime_error>([&] { WordList::Read(name, Letters()); });
  };
  EXPECT_EQ(error(folder.File("none")),
            folder.File("none") + ": cannot open: No such file or directory");
  EXPECT_EQ(error(folder.File("")), folder.File("") + ": cannot read: Is a directory");
  EXPECT_EQ(error("/dev/zero"), "/dev/zero: larger than 8388608 bytes, expected a list of words");
  std::ofstream(path) << "a\nx\n";
  EXPECT_TRUE(Contains(error(path), path + ":2: 'x' needs the token 'x'"));
}

}  // namespace
}  // namespace runnel
