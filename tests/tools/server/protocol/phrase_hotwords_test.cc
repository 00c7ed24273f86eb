#include "tools/server/protocol/phrase_hotwords.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tools/server/dialects/protocol_conversation.h"

namespace runnel::server {
namespace {

using testing::Units;

TEST(PhraseHotwords, KeepsWhatTheVocabularyCanSpell) {
  const auto hotwords = PhraseHotwords({{"two", 1},
                                        {" Two \t zero\n", 2},
                                        {"three", 1},
                                        {"", 1},
                                        {"\u2581", 1},
                                        {"\xFF", 1},
                                        {std::string("two\0", 4), 4},
                                        {std::string(5000, 'x'), 1}},
                                       Units());
  ASSERT_NE(hotwords, nullptr);
  EXPECT_EQ(hotwords->text(), "two :3\nTwo zero :1.5\n");
}

TEST(PhraseHotwords, ScoresAreBounded) {
  EXPECT_EQ(PhraseHotwords({{"two", 1e9}}, Units())->text(), "two :100\n");
  EXPECT_EQ(PhraseHotwords({{"two", 0.5}}, Units())->text(), "two :0.375\n");
}

TEST(PhraseHotwords, NoneIsLeft) {
  EXPECT_EQ(PhraseHotwords({}, Units()), nullptr);
  EXPECT_EQ(PhraseHotwords({{"three", 1}, {"# two", 1}}, Units()), nullptr);
}

// What cannot be spelled counts too, or else a client could have any number of phrases tried.
TEST(PhraseHotwords, TheListIsBounded) {
  std::vector<WeightedPhrase> phrases(kMaxPhraseListBytes / 2 - 2, {"z", 1});
  phrases.push_back({"two", 1});
  EXPECT_NE(PhraseHotwords(phrases, Units()), nullptr) << "the limit itself is allowed";
  phrases.insert(phrases.begin(), {"z", 1});
  EXPECT_EQ(PhraseHotwords(phrases, Units()), nullptr);
  // Phrases that are too long cost nothing, and so leave the others their room.
  phrases.assign(1000, {std::string(60000, 'z'), 1});
  phrases.push_back({"two", 1});
  EXPECT_NE(PhraseHotwords(phrases, Units()), nullptr);
}

}  // namespace
}  // namespace runnel::server
