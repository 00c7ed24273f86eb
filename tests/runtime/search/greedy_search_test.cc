#include "runtime/search/greedy_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/runtime/search/search_test_support.h"

namespace runnel {
namespace {

// Frames in which the token of `path` has the probability beside it and the others share the rest.
std::vector<float> Frames(const std::vector<std::pair<int, float>>& path, int vocab_size) {
  std::vector<float> values;
  for (const auto& [id, probability] : path) {
    const float rest = (1 - probability) / static_cast<float>(vocab_size - 1);
    for (int k = 0; k < vocab_size; ++k) values.push_back(std::log(k == id ? probability : rest));
  }
  return values;
}

TEST(CtcGreedySearchTest, StartsWithTheEmptySequence) {
  const CtcGreedySearch search(3, 0);
  EXPECT_TRUE(search.BestIds().empty());
  const std::vector<TokenSequence> nbest = search.NBest(5);
  ASSERT_EQ(nbest.size(), 1U);
  EXPECT_TRUE(nbest[0].tokens.empty());
  EXPECT_EQ(nbest[0].score, 0);
}

TEST(CtcGreedySearchTest, CollapsesRepeatsAndDropsBlanks) {
  // Blank is 2. Frames: 1 1 - 1 0 0 -
  const std::vector<float> values =
      Frames({{1, .6F}, {1, .9F}, {2, .8F}, {1, .7F}, {0, .5F}, {0, .4F}, {2, .9F}}, 3);
  CtcGreedySearch search(3, 2);
  search.Advance(values.data(), 7);
  EXPECT_EQ(search.BestIds(), (std::vector<int32_t>{1, 1, 0}));
  const TokenSequence best = search.NBest(1).front();
  ASSERT_EQ(best.tokens.size(), 3U);
  EXPECT_EQ(best.tokens[0].first_frame, 0);
  EXPECT_EQ(best.tokens[0].last_frame, 1);
  EXPECT_FLOAT_EQ(best.tokens[0].confidence, .9F);
  EXPECT_EQ(best.tokens[1].first_frame, 3);
  EXPECT_EQ(best.tokens[1].last_frame, 3);
  EXPECT_EQ(best.tokens[2].first_frame, 4);
  EXPECT_EQ(best.tokens[2].last_frame, 5);
  EXPECT_FLOAT_EQ(best.tokens[2].confidence, .5F);
  EXPECT_NEAR(best.score, std::log(.6 * .9 * .8 * .7 * .5 * .4 * .9), 1e-6);
}

TEST(CtcGreedySearchTest, TakesTheLowestOfEquallyProbableTokens) {
  const std::vector<float> values(4, std::log(.25F));
  CtcGreedySearch search(4, 3);
  search.Advance(values.data(), 1);
  EXPECT_EQ(search.BestIds(), std::vector<int32_t>{0});
}

TEST(CtcGreedySearchTest, EqualsTheBestOfAllAlignments) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int vocab_size = 2 + static_cast<int>(seed % 3);
    const int blank_id = static_cast<int>(seed) % vocab_size;
    const int64_t num_frames = 1 + seed % 6;
    const std::vector<float> values = RandomLogProbs(&random, num_frames, vocab_size, 2);
    std::vector<int32_t> best_path;
    double best_score = kMinusInfinity;
    ForEachAlignment(values, vocab_size, [&](const std::vector<int32_t>& path, double score) {
      if (score <= best_score) return;
      best_score = score;
      best_path = path;
    });
    CtcGreedySearch search(vocab_size, blank_id);
    search.Advance(values.data(), num_frames);
    ExpectSame(search.NBest(1), {{Collapse(best_path, values, vocab_size, blank_id), best_score}});
  }
}

TEST(CtcGreedySearchTest, AnySplitGivesTheSame) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<float> values = RandomLogProbs(&random, 200, 4, 1);
    CtcGreedySearch whole(4, 0);
    whole.Advance(values.data(), 200);
    CtcGreedySearch pieces(4, 0);
    AdvanceInPieces(&random, values, 4, &pieces);
    ExpectSame(pieces.NBest(1), whole.NBest(1));
    ExpectOrderedSpans(whole.NBest(1).front(), 200);
    EXPECT_EQ(whole.BestIds(), Ids(whole.NBest(1).front()));
  }
}

TEST(CtcGreedySearchTest, NoUtteranceCutsATokenInTwo) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<float> values = RandomLogProbs(&random, 200, 4, 1);
    CtcGreedySearch whole(4, 0);
    whole.Advance(values.data(), 200);
    CtcGreedySearch search(4, 0);
    std::vector<int32_t> ids;
    for (int64_t t = 0; t < 200; ++t) {
      search.Advance(values.data() + 4 * t, 1);
      if (random() % 3 != 0) continue;
      ids.insert(ids.end(), search.BestIds().begin(), search.BestIds().end());
      search.StartUtterance(t + 1);
      search.StartUtterance(t + 1);  // an utterance without a frame changes nothing
    }
    ids.insert(ids.end(), search.BestIds().begin(), search.BestIds().end());
    EXPECT_EQ(ids, whole.BestIds());
  }
  // After passed frames nothing goes on.
  const std::vector<float> values = Frames({{1, .9F}, {1, .9F}}, 3);
  CtcGreedySearch search(3, 0);
  search.Advance(values.data(), 1);
  search.StartUtterance(2);
  search.Advance(values.data(), 2);
  EXPECT_EQ(search.BestIds(), std::vector<int32_t>{1});
}

TEST(CtcGreedySearchTest, CloneAndResetAreIndependent) {
  std::mt19937 random(7);
  const std::vector<float> values = RandomLogProbs(&random, 60, 4, 1);
  CtcGreedySearch search(4, 0);
  search.Advance(values.data(), 30);
  const std::unique_ptr<CtcSearch> clone = search.Clone();
  const std::vector<TokenSequence> halfway = search.NBest(1);
  search.Advance(values.data() + values.size() / 2, 30);
  ExpectSame(clone->NBest(1), halfway);
  clone->Advance(values.data() + values.size() / 2, 30);
  ExpectSame(clone->NBest(1), search.NBest(1));
  search.Reset();
  EXPECT_TRUE(search.BestIds().empty());
  search.Advance(values.data(), 60);
  ExpectSame(search.NBest(1), clone->NBest(1));
}

TEST(CtcGreedySearchTest, AllIdsAreStable) {
  std::mt19937 random(4);
  const std::vector<float> values = RandomLogProbs(&random, 300, 4, 2);
  CtcGreedySearch search(4, 0);
  ExpectStableIdsStay(values, 4, &search);
  EXPECT_EQ(search.NumStableIds(), search.BestIds().size());
}

TEST(CtcGreedySearchTest, CountsFramesOfALongStream) {
  std::vector<float> block = Frames({{0, .9F}, {0, .9F}, {1, .8F}, {0, .9F}}, 2);
  CtcGreedySearch search(2, 0);
  for (int i = 0; i < 250000; ++i) search.Advance(block.data(), 4);
  const TokenSequence best = search.NBest(1).front();
  ASSERT_EQ(best.tokens.size(), 250000U);
  EXPECT_EQ(best.tokens.back().first_frame, 999998);
}

TEST(CtcGreedySearchTest, RejectsWhatIsNoDistributionAndStaysAsItWas) {
  std::mt19937 random(3);
  std::vector<float> values = RandomLogProbs(&random, 5, 3, 1);
  CtcGreedySearch search(3, 0);
  search.Advance(values.data(), 5);
  const std::vector<TokenSequence> before = search.NBest(1);
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    std::vector<float> broken = values;
    broken[3 * 3 + 1] = bad;
    EXPECT_THROW(search.Advance(broken.data(), 5), std::invalid_argument);
  }
  std::vector<float> impossible(3, kMinusInfinity);
  EXPECT_THROW(search.Advance(impossible.data(), 1), std::invalid_argument);
  EXPECT_THROW(search.Advance(nullptr, 1), std::invalid_argument);
  EXPECT_THROW(search.Advance(values.data(), -1), std::invalid_argument);
  search.Advance(nullptr, 0);
  ExpectSame(search.NBest(1), before);
  EXPECT_THROW(search.NBest(0), std::invalid_argument);
}

TEST(CtcGreedySearchTest, TheErrorNamesFrameAndToken) {
  std::vector<float> values(6, std::log(.5F));
  values[5] = std::nanf("");
  CtcGreedySearch search(2, 0);
  try {
    search.Advance(values.data(), 3);
    FAIL() << "no exception";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("frame 2, token 1"), std::string::npos)
        << error.what();
  }
}

TEST(MakeCtcSearchTest, ChecksOptionsAndVocabulary) {
  SearchOptions options;
  EXPECT_NE(MakeCtcSearch(options, 3, 0), nullptr);
  EXPECT_THROW(MakeCtcSearch(options, 0, 0), std::invalid_argument);
  EXPECT_THROW(MakeCtcSearch(options, 3, 3), std::invalid_argument);
  EXPECT_THROW(MakeCtcSearch(options, 3, -1), std::invalid_argument);
  options.method = SearchMethod::kPrefixBeam;
  EXPECT_NE(MakeCtcSearch(options, 3, 2), nullptr);
  EXPECT_THROW(MakeCtcSearch(options, 0, 0), std::invalid_argument);
  EXPECT_THROW(MakeCtcSearch(options, 3, 3), std::invalid_argument);
  for (const int beam_size : {0, -1, SearchOptions::kMaxBeamSize + 1}) {
    options.beam_size = beam_size;
    EXPECT_THROW(options.Validate(), std::invalid_argument);
  }
  options.beam_size = SearchOptions::kMaxBeamSize;
  EXPECT_NO_THROW(options.Validate());
  options.beam_size = 1;
  options.token_beam = 0;
  EXPECT_THROW(options.Validate(), std::invalid_argument);
  options.token_beam = 1;
  options.method = static_cast<SearchMethod>(9);
  EXPECT_THROW(options.Validate(), std::invalid_argument);
}

}  // namespace
}  // namespace runnel
