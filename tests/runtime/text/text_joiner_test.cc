#include "runtime/text_joiner.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/token_table.h"

namespace runnel {
namespace {

using Ids = std::vector<int32_t>;

Hypothesis Spelled(const Ids& ids, const TokenTable& table) {
  Hypothesis hypothesis;
  for (const int32_t id : ids) hypothesis.tokens.push_back({id, 0, 0, 1});
  table.Complete(&hypothesis);
  return hypothesis;
}

std::string Joined(const std::vector<Ids>& utterances, const TokenTable& table) {
  TextJoiner joiner;
  std::string text;
  for (const Ids& ids : utterances) text += joiner.Add(Spelled(ids, table));
  return text;
}

// Wherever utterances end, joined they are the text of all tokens.
TEST(TextJoinerTest, AnyCutGivesTheTextOfAllTokens) {
  const TokenTable table("<blank> 0\n▁he 1\nllo 2\n▁ 3\nworld 4\nx▁y 5\n好 6\n<en-US> 7\n", 8, 0,
                         "units.txt");
  const Ids ids = {7, 3, 1, 2, 3, 6, 6, 7, 1, 5, 2, 7, 3, 3, 4, 6, 7};
  for (size_t a = 0; a <= ids.size(); ++a) {
    for (size_t b = a; b <= ids.size(); ++b) {
      const auto begin = ids.begin();
      const auto first = begin + static_cast<std::ptrdiff_t>(a);
      const auto second = begin + static_cast<std::ptrdiff_t>(b);
      EXPECT_EQ(Joined({{begin, first}, {first, second}, {second, ids.end()}}, table),
                table.Text(ids))
          << a << " " << b;
    }
  }
}

TEST(TextJoinerTest, OnlyAWordBoundaryMakesASpace) {
  const TokenTable pieces("<blank> 0\n▁he 1\nllo 2\n好 3\n", 4, 0, "units.txt");
  EXPECT_EQ(Joined({{1, 2}, {1}}, pieces), "hello he");
  EXPECT_EQ(Joined({{1}, {2}}, pieces), "hello");  // a word that was cut
  EXPECT_EQ(Joined({{3}, {}, {3}, {1}}, pieces), "好好 he");
  const TokenTable letters("<blank> 0\n▁ 1\na 2\n", 3, 0, "units.txt");
  EXPECT_EQ(Joined({{2, 1}, {2}, {1}, {2}}, letters), "a a a");
  const TokenTable characters("<blank> 0\n你 1\n好 2\n", 3, 0, "units.txt");
  EXPECT_EQ(Joined({{1}, {2}}, characters), "你好");
}

}  // namespace
}  // namespace runnel
