// Reference texts as tokens.
#include "tools/verification/spelling.h"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/error_message.h"

namespace runnel {
namespace {

using testing::ErrorMessage;
using Ids = std::vector<int32_t>;

TokenTable Table(const std::vector<std::string>& tokens) {
  std::string units;
  for (size_t id = 0; id < tokens.size(); ++id) {
    units += tokens[id] + " " + std::to_string(id) + "\n";
  }
  return TokenTable(units, static_cast<int>(tokens.size()), 0, "units");
}

Ids Spell(const std::string& text, const TokenTable& tokens) {
  return ReferenceTokens(text, {}, tokens);
}

TEST(SpellingTest, UsesAsFewTokensAsPossible) {
  const TokenTable tokens = Table({"<blank>", "▁", "a", "b", "c", "▁a", "ab", "bc", "▁ab", "▁a▁b"});
  EXPECT_EQ(Spell("abc", tokens), (Ids{8, 4}));
  EXPECT_EQ(Spell("cab", tokens), (Ids{1, 4, 6}));
  EXPECT_EQ(Spell(" a\t b \r\n", tokens), (Ids{9}));
  EXPECT_EQ(Spell("b", tokens), (Ids{1, 3}));
  EXPECT_EQ(Spell("", tokens), Ids());
}

TEST(SpellingTest, BoundariesMayEndWords) {
  const TokenTable tokens = Table({"<blank>", "a", "b▁", "a▁"});
  EXPECT_EQ(Spell("ab a", tokens), (Ids{1, 2, 3}));
}

TEST(SpellingTest, WithoutBoundariesWhiteSpaceIsLeftOut) {
  const TokenTable tokens = Table({"<blank>", "你", "好", "你好"});
  EXPECT_EQ(Spell("你 好好", tokens), (Ids{3, 2}));
}

TEST(SpellingTest, KeepsWhatWasRecognisedIfItIsTheText) {
  const TokenTable tokens = Table({"<blank>", "▁", "a", "b", "▁ab"});
  EXPECT_EQ(ReferenceTokens("ab ab", {1, 2, 3, 4}, tokens), (Ids{1, 2, 3, 4}));
  EXPECT_EQ(ReferenceTokens("ab  ab ", {1, 2, 3, 4, 1}, tokens), (Ids{1, 2, 3, 4, 1}));
  EXPECT_EQ(ReferenceTokens("ab ba", {1, 2, 3, 4}, tokens), (Ids{4, 1, 3, 2}));
}

TEST(SpellingTest, NamesTheWordThatCannotBeSpelled) {
  const TokenTable tokens = Table({"<blank>", "▁", "a", "b"});
  for (const std::string wrong : {"c", "A", "abxa", "<blank>", "caf\xe9"}) {
    EXPECT_EQ(ErrorMessage<std::runtime_error>([&] { Spell("ab " + wrong + " xyz", tokens); }),
              "the tokens of the model cannot spell '" + wrong +
                  "' of the reference text; expected words as the model writes them");
  }
}

// Any text of the tokens is spelled with at most as many tokens as made it, and by the same text.
TEST(SpellingTest, EveryTextOfTheTokens) {
  const TokenTable tokens = Table({"<blank>", "▁", "a", "b", "▁a", "ba", "aab", "▁bb"});
  for (unsigned seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Ids ids = {1};
    for (size_t rest = random() % 10; rest > 0; --rest) {
      ids.push_back(1 + static_cast<int32_t>(random() % 7));
    }
    const std::string text = tokens.Text(ids);
    const Ids spelled = Spell(text, tokens);
    EXPECT_EQ(tokens.Text(spelled), text);
    EXPECT_LE(spelled.size(), ids.size());
  }
}

}  // namespace
}  // namespace runnel
