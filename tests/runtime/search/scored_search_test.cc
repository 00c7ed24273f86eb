// Prefix beam search with hotwords and a language model: equal to brute force over all paths, and
// to itself under every cut of the input, copy and snapshot.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/search/ctc_search.h"
#include "runtime/search/prefix_beam_search.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/word_list.h"
#include "tests/runtime/search/scored_words.h"
#include "tests/runtime/search/search_test_support.h"
#include "tests/support/error_message.h"

namespace runnel {
namespace {

using ScoredSearchTest = ScoredWordsTest;

TEST_F(ScoredSearchTest, EqualsBruteForceOverAllPaths) {
  constexpr unsigned kSeed = 21;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    const SearchOptions options = Options(round % 3 != 1, round % 3 != 0);
    const int64_t num_frames = 1 + round % 5;
    const std::vector<float> values = RandomLogProbs(&random, num_frames, 5, 1.5F);
    const auto exact = EnumerateLabellings(values, 5, 0);
    std::vector<std::pair<double, std::vector<int32_t>>> expected;
    for (const auto& [ids, labelling] : exact) {
      expected.emplace_back(std::log(labelling.probability) + Bonus(Tokens().Text(ids), options),
                            ids);
    }
    std::sort(expected.rbegin(), expected.rend());

    const auto search = MakeCtcSearch(options, 5, 0);
    AdvanceInPieces(&random, values, 5, search.get());
    search->Finish();
    const std::vector<TokenSequence> actual = search->NBest(10000);
    ASSERT_EQ(actual.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(actual[i].score, expected[i].first, 1e-5);
      const auto found = exact.find(Ids(actual[i]));
      ASSERT_NE(found, exact.end());
      EXPECT_NEAR(
          actual[i].score,
          std::log(found->second.probability) + Bonus(Tokens().Text(Ids(actual[i])), options),
          1e-5);
    }
  }
}

TEST_F(ScoredSearchTest, WithAWordListToo) {
  constexpr unsigned kSeed = 22;
  std::mt19937 random(kSeed);
  SearchOptions options = Options(true, true);
  options.word_list =
      std::make_shared<const WordList>("ab ▁a b\na ▁a\nb ▁ b\n", Tokens(), "words.txt");
  for (int round = 0; round < 30; ++round) {
    const std::vector<float> values = RandomLogProbs(&random, 5, 5, 1.5F);
    double best = kMinusInfinity;
    for (const auto& [ids, labelling] : EnumerateLabellings(values, 5, 0)) {
      // Sequences of ▁a b, ▁a and ▁ b.
      bool is_allowed = true;
      for (size_t i = 0; i < ids.size() && is_allowed; ++i) {
        if (ids[i] == 1) {
          is_allowed = i + 1 < ids.size() && ids[i + 1] == 3;
          ++i;
        } else {
          is_allowed = ids[i] == 4 || (ids[i] == 3 && i > 0 && ids[i - 1] == 4);
        }
      }
      if (!is_allowed) continue;
      best = std::max(best, std::log(labelling.probability) + Bonus(Tokens().Text(ids), options));
    }
    const auto search = MakeCtcSearch(options, 5, 0);
    search->Advance(values.data(), 5);
    search->Finish();
    EXPECT_NEAR(search->NBest(1).front().score, best, 1e-5) << "seed " << kSeed << " " << round;
  }
}

TEST_F(ScoredSearchTest, AnyCutCopyAndSnapshotGivesTheSameBits) {
  constexpr unsigned kSeed = 23;
  std::mt19937 random(kSeed);
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", round " + std::to_string(round));
    const SearchOptions options = Options(round % 2 == 0, round % 3 != 0, 1 + round % 8);
    const std::vector<float> values = RandomLogProbs(&random, 60, 5, 3, 0, 2);
    const auto whole = MakeCtcSearch(options, 5, 0);
    whole->Advance(values.data(), 60);
    auto pieces = MakeCtcSearch(options, 5, 0);
    for (int64_t done = 0; done < 60;) {
      const int64_t count = std::min<int64_t>(60 - done, 1 + random() % 9);
      pieces->Advance(values.data() + 5 * done, count);
      done += count;
      if (random() % 2 == 0) pieces = pieces->Clone();
      StateWriter writer;
      pieces->Save(&writer);
      const std::string bytes = writer.Take();
      StateReader reader(bytes);
      pieces = MakeCtcSearch(options, 5, 0);
      pieces->Restore(&reader);
    }
    ExpectSame(pieces->NBest(10), whole->NBest(10));
    whole->Finish();
    pieces->Finish();
    ExpectSame(pieces->NBest(10), whole->NBest(10));
    StateWriter writer;
    pieces->Save(&writer);
    const std::string bytes = writer.Take();
    StateReader reader(bytes);
    const auto restored = MakeCtcSearch(options, 5, 0);
    restored->Restore(&reader);
    ExpectSame(restored->NBest(10), whole->NBest(10));
    restored->Finish();
    ExpectSame(restored->NBest(10), whole->NBest(10));
  }
}

TEST_F(ScoredSearchTest, AWideBeamNeverScoresLessThanANarrowOne) {
  constexpr unsigned kSeed = 24;
  std::mt19937 random(kSeed);
  const std::vector<float> values = RandomLogProbs(&random, 6, 5, 2);
  const auto best = [&](int beam_size) {
    const auto search = MakeCtcSearch(Options(true, true, beam_size), 5, 0);
    search->Advance(values.data(), 6);
    search->Finish();
    return search->NBest(1).front().score;
  };
  EXPECT_LE(best(2), best(4000) + 1e-9);
  EXPECT_LE(best(8), best(4000) + 1e-9);
}

TEST_F(ScoredSearchTest, StableTokensStay) {
  std::mt19937 random(25);
  const std::vector<float> values = RandomLogProbs(&random, 200, 5, 6, 0, 3);
  const auto search = MakeCtcSearch(Options(true, true, 8), 5, 0);
  ExpectStableIdsStay(values, 5, search.get());
}

TEST_F(ScoredSearchTest, WrongUseIsNamed) {
  SearchOptions greedy = Options(true, false);
  greedy.method = SearchMethod::kGreedy;
  EXPECT_EQ(testing::ErrorMessage<std::invalid_argument>([&] { MakeCtcSearch(greedy, 5, 0); }),
            "hotwords needs search=beam");
  greedy = Options(false, true);
  greedy.method = SearchMethod::kGreedy;
  EXPECT_EQ(testing::ErrorMessage<std::invalid_argument>([&] { MakeCtcSearch(greedy, 5, 0); }),
            "language_model needs search=beam");
  EXPECT_EQ(testing::ErrorMessage<std::invalid_argument>(
                [&] { MakeCtcSearch(Options(true, false), 6, 0); }),
            "search.hotwords is of a model with 5 tokens, blank 0, expected 6 tokens, blank 0");
  EXPECT_EQ(
      testing::ErrorMessage<std::invalid_argument>(
          [&] { MakeCtcSearch(Options(false, true), 5, 1); }),
      "search.language_model is of a model with 5 tokens, blank 0, expected 5 tokens, blank 1");
}

}  // namespace
}  // namespace runnel
