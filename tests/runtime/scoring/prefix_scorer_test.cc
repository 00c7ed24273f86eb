// The bonus of hotwords under a bound for each token.
#include "runtime/scoring/prefix_scorer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/search_options.h"
#include "runtime/token_table.h"

namespace runnel {
namespace {

constexpr int32_t kBlankId = 0;

class PrefixScorerTest : public ::testing::Test {
 protected:
  static SearchOptions Options(const std::string& hotwords, const TokenTable& tokens) {
    SearchOptions options;
    options.hotwords = std::make_shared<const Hotwords>(hotwords, tokens, 1.0F, "test");
    return options;
  }

  const TokenTable tokens_{"<blank> 0\n▁ 1\ns 2\ni 3\nx 4\n▁s 5\n▁six 6\n", 7, kBlankId,
                           "units.txt"};
  const PrefixScorer scorer_{Options("six :3\nsix six :1\nxi :-2\nsis :0.5\n", tokens_), 7,
                             kBlankId};
};

TEST_F(PrefixScorerTest, ATokenAddsNoMoreThanItsBound) {
  std::mt19937_64 random(37);
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE("utterance " + std::to_string(i) + " of seed 37");
    PrefixScorer::State bounded = scorer_.Start();
    PrefixScorer::State free = scorer_.Start();
    for (int t = 0; t < 30; ++t) {
      const auto token = static_cast<int32_t>(1 + random() % 6);
      const double most = static_cast<double>(random() % 1000) / 200;
      const double before = bounded.bonus;
      scorer_.Extend(&bounded, token, most);
      scorer_.Extend(&free, token);
      EXPECT_LE(bounded.bonus, before + most + 1e-9);
      EXPECT_LE(bounded.bonus, free.bonus + 1e-9);
      EXPECT_GE(bounded.potential, 0);
      EXPECT_EQ(bounded.hotword_node, free.hotword_node);
    }
    const double before = bounded.bonus;
    scorer_.End(&bounded, 0);
    scorer_.End(&free);
    EXPECT_LE(bounded.bonus, before + 1e-9);
    EXPECT_LE(bounded.bonus, free.bonus + 1e-9);
    EXPECT_EQ(bounded.potential, 0);
  }
}

TEST_F(PrefixScorerTest, ABoundThatIsNotReachedChangesNoBit) {
  std::mt19937_64 random(38);
  PrefixScorer::State bounded = scorer_.Start();
  PrefixScorer::State free = scorer_.Start();
  for (int t = 0; t < 1000; ++t) {
    const auto token = static_cast<int32_t>(1 + random() % 6);
    scorer_.Extend(&bounded, token, 100);
    scorer_.Extend(&free, token);
    ASSERT_EQ(bounded.bonus, free.bonus);
    ASSERT_EQ(bounded.potential, free.potential);
  }
}

// What an abandoned phrase got is lost, no more and no less, also behind a completed one.
TEST_F(PrefixScorerTest, AnAbandonedPhraseLeavesNothing) {
  PrefixScorer::State state = scorer_.Start();
  for (const int32_t token : {1, 2, 3}) scorer_.Extend(&state, token, 0.25);  // "si"
  EXPECT_EQ(state.bonus, 0.5);
  scorer_.Extend(&state, 1, 0.25);  // "si "
  EXPECT_EQ(state.bonus, 0);
  scorer_.Extend(&state, 6, 0.25);  // "si six"
  EXPECT_EQ(state.bonus, 0.25);
  for (int i = 0; i < 5; ++i) {  // "... s"
    scorer_.Extend(&state, 5, 0.125);
    scorer_.Extend(&state, 3, 0);
    scorer_.Extend(&state, 3, 0);  // "sii" begins no phrase
    EXPECT_EQ(state.bonus, 0.25);
  }
}

// The predictor of a transducer writes a word that it has begun without loss. It gets no bonus.
TEST_F(PrefixScorerTest, ARepetitionThatCostsNothingAddsNothing) {
  PrefixScorer::State state = scorer_.Start();
  for (int i = 0; i < 21; ++i) scorer_.Extend(&state, 6, 0.01);
  scorer_.End(&state, 0);
  EXPECT_NEAR(state.bonus, 0.21, 1e-9);
  // One that costs as much as its bonus gets all of it.
  const PrefixScorer six(Options("six :3\n", tokens_), 7, kBlankId);
  PrefixScorer::State spoken = six.Start();
  for (int i = 0; i < 3; ++i) six.Extend(&spoken, 6, 9);
  six.End(&spoken, 0);
  EXPECT_EQ(spoken.bonus, 3 * 9);
}

}  // namespace
}  // namespace runnel
