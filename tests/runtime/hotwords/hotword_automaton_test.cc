// Bonuses and matches of short texts.
#include "runtime/hotwords/hotword_automaton.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/token_table.h"
#include "tests/support/hotword_bonus.h"

namespace runnel {
namespace {

using testing::Follow;
using testing::SequenceEnd;
using testing::WholeBonus;

using Ids = std::vector<int32_t>;

// Letters and a special token, which no phrase contains.
constexpr int32_t kA = 2;
constexpr int32_t kB = 3;
constexpr int32_t kC = 4;
constexpr int32_t kSpace = 1;
constexpr int32_t kUnknown = 5;
TokenTable Letters() {
  return TokenTable("<blank> 0\n▁ 1\na 2\nb 3\nc 4\n<unk> 5\n▁ab 6\n", 7, 0, "units.txt");
}

TEST(HotwordAutomatonTest, AnAbandonedPhraseAddsNothing) {
  // Scores that have no exact binary representation.
  const Hotwords hotwords("abc abc :0.1\nbb c :0.7\nabca :-0.3\n", Letters(), 1, "list");
  const HotwordAutomaton& automaton = hotwords.automaton();
  std::mt19937_64 random(1);
  for (int round = 0; round < 1000; ++round) {
    Ids tokens;
    for (int i = 0; i < 12; ++i) tokens.push_back(static_cast<int32_t>(random() % 7));
    if (!automaton.Matches(tokens).empty()) continue;
    tokens.push_back(kUnknown);
    EXPECT_EQ(Follow(automaton, tokens).Total(automaton), 0.0);
    EXPECT_EQ(WholeBonus(automaton, tokens), 0.0);
  }
}

TEST(HotwordAutomatonTest, ACompletedPhraseHasExactlyItsBonus) {
  const double score =
      std::round(0.1F / HotwordAutomaton::kScoreUnit) * HotwordAutomaton::kScoreUnit;
  const Hotwords hotwords("abc c :0.1\n", Letters(), 1, "list");
  const HotwordAutomaton& automaton = hotwords.automaton();
  Ids tokens;
  for (int count = 1; count <= 1000; ++count) {
    tokens.insert(tokens.end(), {6, kC, kSpace, kC, kSpace, kA, kUnknown});
    EXPECT_EQ(Follow(automaton, tokens).Total(automaton), count * 4 * score);
  }
}

TEST(HotwordAutomatonTest, PotentialGrowsWithThePhraseAndBecomesItsBonus) {
  const Hotwords hotwords("ab c :2\n", Letters(), 1, "list");
  const HotwordAutomaton& automaton = hotwords.automaton();
  const std::vector<std::pair<int32_t, double>> totals = {
      {kA, 2},     {kB, 4},     {kSpace, 4}, {kSpace, 4}, {kC, 6},
      {kSpace, 6}, {kSpace, 6}, {kA, 8},     {kA, 6},     {kB, 6}};
  SequenceEnd end;
  EXPECT_EQ(end.Total(automaton), 0);
  for (const auto& [token, total] : totals) {
    end.node = automaton.Next(end.node, token, &end.completed);
    EXPECT_EQ(end.Total(automaton), total);
  }
  EXPECT_EQ(end.completed, 6);
}

TEST(HotwordAutomatonTest, APhraseMatchesWholeWords) {
  const Hotwords hotwords("ab\n", Letters(), 1, "list");
  const HotwordAutomaton& automaton = hotwords.automaton();
  EXPECT_EQ(WholeBonus(automaton, {kA, kB}), 2);
  EXPECT_EQ(WholeBonus(automaton, {6}), 2);
  EXPECT_EQ(WholeBonus(automaton, {6, 0, 0}), 2);  // the blank has no effect
  EXPECT_EQ(WholeBonus(automaton, {6, kSpace, kSpace}), 2);
  EXPECT_EQ(WholeBonus(automaton, {6, 6, kSpace, 6}), 6);
  EXPECT_EQ(WholeBonus(automaton, {6, kC}), 0);
  EXPECT_EQ(WholeBonus(automaton, {kC, kA, kB}), 0);
  EXPECT_EQ(WholeBonus(automaton, {6, kUnknown}), 0);
}

// In a vocabulary with boundaries, which Chinese text does not have.
TEST(HotwordAutomatonTest, ChineseCharactersAreWords) {
  const TokenTable tokens("<blank> 0\n▁a 1\nb 2\n中 3\n国 4\n人 5\n▁中 6\n", 7, 0, "units.txt");
  const Hotwords hotwords("中国\nab 国\n", tokens, 1, "list");
  const HotwordAutomaton& automaton = hotwords.automaton();
  EXPECT_EQ(WholeBonus(automaton, {5, 3, 4, 5}), 2);
  EXPECT_EQ(WholeBonus(automaton, {1, 6, 4, 1}), 2);
  EXPECT_EQ(WholeBonus(automaton, {3, 1, 2, 4, 3}), 3);
  EXPECT_EQ(WholeBonus(automaton, {3, 1, 2, 2, 4}), 0);
  // Complete without another token.
  EXPECT_EQ(Follow(automaton, {3, 4}).completed, 2);
}

TEST(HotwordAutomatonTest, OnePhraseInAnother) {
  const Hotwords hotwords("ab\nab c\nc\n", Letters(), 1, "list");
  const HotwordAutomaton& automaton = hotwords.automaton();
  EXPECT_EQ(WholeBonus(automaton, {6, kSpace, kC}), 2 + 3 + 1);
  EXPECT_EQ(WholeBonus(automaton, {6, kSpace, kB}), 2);
  // "ab" is completed, and "ab c" may be.
  EXPECT_EQ(Follow(automaton, {6, kSpace}).Total(automaton), 2 + 2);
  const std::vector<HotwordAutomaton::Match> matches = automaton.Matches({6, kSpace, kC});
  ASSERT_EQ(matches.size(), 2U);
  EXPECT_EQ(matches[0].phrase, 0U);
  EXPECT_EQ(matches[1].phrase, 1U);  // "c" ends at the same place
  EXPECT_EQ(matches[1].first_token, 0U);
  EXPECT_EQ(matches[1].last_token, 2U);
}

// Otherwise a list of some kilobytes could fill the memory.
TEST(HotwordAutomatonTest, NestedPhrasesAreNotMultipliedByTokens) {
  std::string list;
  std::string phrase;
  for (int i = 0; i < 200; ++i) {
    phrase += i == 0 ? "a" : " a";
    list += phrase + "\n";
  }
  const Hotwords hotwords(list, Letters(), 1, "list");
  Ids tokens;
  for (int i = 0; i < 300; ++i) tokens.insert(tokens.end(), {kSpace, kA});
  EXPECT_EQ(hotwords.automaton().Matches(tokens).size(), 300U);
}

TEST(HotwordAutomatonTest, TheBestScoreOfASharedBeginningCounts) {
  // Whichever is listed first.
  for (const char* list : {"aab :1\naac :3\n", "aac :3\naab :1\n"}) {
    const Hotwords hotwords(list, Letters(), 1, "list");
    const HotwordAutomaton& automaton = hotwords.automaton();
    EXPECT_EQ(Follow(automaton, {kA, kA}).Total(automaton), 6);
    EXPECT_EQ(Follow(automaton, {kA, kA, kB}).Total(automaton), 3);
    EXPECT_EQ(Follow(automaton, {kA, kA, kC}).Total(automaton), 9);
    EXPECT_EQ(WholeBonus(automaton, {kA, kA, kB}), 3);
    EXPECT_EQ(WholeBonus(automaton, {kA, kA, kC}), 9);
  }
}

TEST(HotwordAutomatonTest, MostGainIsThatOfTheLongestToken) {
  const Hotwords hotwords("abcabc\n", Letters(), 1, "list");
  const HotwordAutomaton& automaton = hotwords.automaton();
  EXPECT_EQ(automaton.MostGain(HotwordAutomaton::kStart), 3);  // ▁ab has three bytes
  EXPECT_EQ(automaton.MostGain(Follow(automaton, {kA, kB, kC, kA}).node), 2);
  EXPECT_EQ(automaton.MostGain(Follow(automaton, {kB}).node), 2);  // after a boundary
}

TEST(HotwordAutomatonTest, APhraseToAvoidDoesNotCountBeforeItIsComplete) {
  const Hotwords hotwords("abc :-2\n", Letters(), 1, "list");
  const HotwordAutomaton& automaton = hotwords.automaton();
  const SequenceEnd unfinished = Follow(automaton, {kA, kB});
  EXPECT_EQ(unfinished.Total(automaton), 0);
  EXPECT_EQ(automaton.MostGain(unfinished.node), 0);
  EXPECT_EQ(WholeBonus(automaton, {kA, kB}), 0);
  EXPECT_EQ(WholeBonus(automaton, {kA, kB, kC}), -6);
}

TEST(HotwordAutomatonTest, TenThousandPhrases) {
  std::mt19937_64 random(7);
  std::string units = "<blank> 0\n▁ 1\n";
  for (int i = 0; i < 26; ++i) {
    units += std::string(1, static_cast<char>('a' + i)) + " " + std::to_string(i + 2) + "\n";
  }
  const TokenTable tokens(units, 28, 0, "units.txt");
  std::vector<Ids> phrases;
  std::string list;
  for (int i = 0; i < 10000; ++i) {
    Ids ids;
    for (int k = 0; k < 20; ++k)
      ids.push_back(k == 9 ? 1 : static_cast<int32_t>(2 + random() % 26));
    list += tokens.Text(ids) + "\n";
    phrases.push_back(std::move(ids));
  }
  const Hotwords hotwords(list, tokens, 0.5F, "list");
  ASSERT_EQ(hotwords.num_phrases(), phrases.size());
  for (size_t i = 0; i < phrases.size(); ++i) {
    const std::vector<HotwordAutomaton::Match> matches = hotwords.automaton().Matches(phrases[i]);
    ASSERT_EQ(matches.size(), 1U);
    EXPECT_EQ(matches[0].phrase, i);
    EXPECT_EQ(matches[0].first_token, 0U);
    EXPECT_EQ(matches[0].last_token, 19U);
    EXPECT_EQ(WholeBonus(hotwords.automaton(), phrases[i]), 0.5 * 19);
  }
}

}  // namespace
}  // namespace runnel
