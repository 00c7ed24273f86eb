#include "runtime/search/prefix_beam_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "runtime/search/greedy_search.h"
#include "runtime/snapshot/state_fields.h"
#include "tests/runtime/search/search_test_support.h"

namespace runnel {
namespace {

SearchOptions Beam(int beam_size, int token_beam) {
  SearchOptions options;
  options.method = SearchMethod::kPrefixBeam;
  options.beam_size = beam_size;
  options.token_beam = token_beam;
  return options;
}

// One small problem of each seed.
struct Problem {
  explicit Problem(unsigned seed)
      : random(seed),
        vocab_size(2 + static_cast<int>(seed % 3)),
        blank_id(static_cast<int>(seed / 3) % vocab_size),
        num_frames(1 + seed % 6),
        values(RandomLogProbs(&random, num_frames, vocab_size, seed % 2 == 0 ? 0.5F : 2)) {
    // Some tokens cannot occur at all, but one in every frame can.
    if (seed % 5 != 0) return;
    for (size_t i = 0; i < values.size(); i += 3) {
      if (i % static_cast<size_t>(vocab_size) != 0) values[i] = kMinusInfinity;
    }
  }
  std::mt19937 random;
  int vocab_size;
  int blank_id;
  int64_t num_frames;
  std::vector<float> values;
};

TEST(CtcPrefixBeamSearchTest, StartsWithTheEmptySequence) {
  const CtcPrefixBeamSearch search(Beam(4, 4), 3, 0);
  EXPECT_TRUE(search.BestIds().empty());
  const std::vector<TokenSequence> nbest = search.NBest(5);
  ASSERT_EQ(nbest.size(), 1U);
  EXPECT_TRUE(nbest[0].tokens.empty());
  EXPECT_EQ(nbest[0].score, 0);
}

TEST(CtcPrefixBeamSearchTest, UnprunedEqualsTheSumOverAllAlignments) {
  for (unsigned seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Problem problem(seed);
    auto exact = EnumerateLabellings(problem.values, problem.vocab_size, problem.blank_id);
    for (auto it = exact.begin(); it != exact.end();) {
      it = it->second.probability > 0 ? std::next(it) : exact.erase(it);
    }
    CtcPrefixBeamSearch search(Beam(10000, 100), problem.vocab_size, problem.blank_id);
    search.Advance(problem.values.data(), problem.num_frames);
    const std::vector<TokenSequence> nbest = search.NBest(10000);

    EXPECT_EQ(nbest.size(), exact.size());
    double before = 1e-9;
    for (const TokenSequence& sequence : nbest) {
      const auto found = exact.find(Ids(sequence));
      ASSERT_NE(found, exact.end());
      EXPECT_NEAR(sequence.score, std::log(found->second.probability), 1e-9);
      EXPECT_LE(sequence.score, before);
      before = sequence.score;
      // Times and confidences are those of the best alignment.
      ExpectSame({{sequence.tokens, 0}}, {{found->second.best_spans, 0}});
      exact.erase(found);  // each one only once
    }
  }
}

// After an utterance that ends in a token, an alignment may begin with repetitions of it, which are
// no token. Its state is saved as well.
TEST(CtcPrefixBeamSearchTest, TheTokenBeforeTheUtteranceMayGoOn) {
  int num_going_on = 0;
  for (unsigned seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem(seed);
    CtcPrefixBeamSearch search(Beam(10000, 100), problem.vocab_size, problem.blank_id);
    const std::vector<float> before = RandomLogProbs(&problem.random, 4, problem.vocab_size, 2);
    search.Advance(before.data(), 4);
    const std::vector<TokenSpan> tokens = search.NBest(1)[0].tokens;
    const int32_t going_on =
        !tokens.empty() && tokens.back().last_frame == 3 ? tokens.back().id : -1;
    num_going_on += going_on == -1 ? 0 : 1;
    search.StartUtterance(4);
    search.StartUtterance(4);  // an utterance without a frame changes nothing
    std::map<std::vector<int32_t>, ExactLabelling> exact;
    ForEachAlignment(problem.values, problem.vocab_size,
                     [&](std::vector<int32_t> path, double score) {
                       for (size_t t = 0; t < path.size() && path[t] == going_on; ++t) {
                         path[t] = problem.blank_id;
                       }
                       const std::vector<TokenSpan> spans =
                           Collapse(path, problem.values, problem.vocab_size, problem.blank_id);
                       exact[Ids({spans, 0})].probability += std::exp(score);
                     });
    const int64_t half = problem.num_frames / 2;
    search.Advance(problem.values.data(), half);
    StateWriter writer;
    search.Save(&writer);
    const std::string saved = writer.Take();
    StateReader reader(saved);
    CtcPrefixBeamSearch restored(Beam(10000, 100), problem.vocab_size, problem.blank_id);
    restored.Restore(&reader);
    const float* rest = problem.values.data() + half * problem.vocab_size;
    search.Advance(rest, problem.num_frames - half);
    restored.Advance(rest, problem.num_frames - half);
    ExpectSame(restored.NBest(10000), search.NBest(10000));
    for (const TokenSequence& sequence : search.NBest(10000)) {
      EXPECT_NEAR(sequence.score, std::log(exact[Ids(sequence)].probability), 1e-9);
      exact.erase(Ids(sequence));
    }
    for (const auto& [ids, labelling] : exact) EXPECT_EQ(labelling.probability, 0);
  }
  EXPECT_GE(num_going_on, 20);
}

TEST(CtcPrefixBeamSearchTest, NoBeamFindsMoreThanThereIs) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Problem problem(seed);
    const auto exact = EnumerateLabellings(problem.values, problem.vocab_size, problem.blank_id);
    double best = 0;
    for (const auto& [ids, labelling] : exact) best = std::max(best, labelling.probability);
    for (int beam_size = 1; beam_size <= static_cast<int>(exact.size()); ++beam_size) {
      CtcPrefixBeamSearch search(Beam(beam_size, 100), problem.vocab_size, problem.blank_id);
      search.Advance(problem.values.data(), problem.num_frames);
      const std::vector<TokenSequence> nbest = search.NBest(beam_size);
      ASSERT_FALSE(nbest.empty());
      EXPECT_LE(nbest.size(), static_cast<size_t>(beam_size));
      for (const TokenSequence& sequence : nbest) {
        EXPECT_LE(sequence.score, std::log(exact.at(Ids(sequence)).probability) + 1e-9);
      }
      if (beam_size == static_cast<int>(exact.size())) {
        EXPECT_NEAR(nbest.front().score, std::log(best), 1e-9);
      }
    }
  }
}

// The algorithm of the paper as written: prefixes are vectors in a map, copied and compared whole.
std::vector<std::pair<std::vector<int32_t>, double>> PlainPrefixBeamSearch(
    const std::vector<float>& values, size_t vocab_size, int32_t blank_id, size_t beam_size,
    size_t token_beam) {
  struct Mass {
    double blank = 0;
    double non_blank = 0;
    double total() const { return blank + non_blank; }
  };
  using Entry = std::pair<std::vector<int32_t>, Mass>;
  std::vector<Entry> beam = {{{}, {1, 0}}};
  double log_scale = 0;  // taken out of the probabilities, so that they do not vanish
  for (size_t t = 0; t < values.size() / vocab_size; ++t) {
    const float* frame = values.data() + t * vocab_size;
    std::vector<int32_t> tokens(vocab_size);
    std::iota(tokens.begin(), tokens.end(), 0);
    std::sort(tokens.begin(), tokens.end(),
              [frame](int32_t a, int32_t b) { return frame[a] > frame[b]; });
    tokens.resize(std::min(token_beam, vocab_size));
    std::map<std::vector<int32_t>, Mass> next;
    for (const auto& [prefix, mass] : beam) {
      for (const int32_t token : tokens) {
        const double probability = std::exp(static_cast<double>(frame[token]));
        if (token == blank_id) {
          next[prefix].blank += mass.total() * probability;
          continue;
        }
        const bool repeats = !prefix.empty() && prefix.back() == token;
        if (repeats) next[prefix].non_blank += mass.non_blank * probability;
        std::vector<int32_t> longer = prefix;
        longer.push_back(token);
        next[longer].non_blank += (repeats ? mass.blank : mass.total()) * probability;
      }
    }
    beam.assign(next.begin(), next.end());
    std::sort(beam.begin(), beam.end(),
              [](const Entry& a, const Entry& b) { return a.second.total() > b.second.total(); });
    if (beam.size() > beam_size) beam.resize(beam_size);
    const double scale = beam.front().second.total();
    log_scale += std::log(scale);
    for (auto& [prefix, mass] : beam) {
      mass.blank /= scale;
      mass.non_blank /= scale;
    }
  }
  std::vector<std::pair<std::vector<int32_t>, double>> result;
  for (const auto& [prefix, mass] : beam) {
    if (mass.total() > 0) result.emplace_back(prefix, std::log(mass.total()) + log_scale);
  }
  return result;
}

TEST(CtcPrefixBeamSearchTest, PrunedEqualsTheAlgorithmAsWritten) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int vocab_size = 3 + static_cast<int>(seed % 6);
    const int beam_size = 1 + static_cast<int>(seed % 10);
    const int token_beam = 1 + static_cast<int>(seed % 7);
    const std::vector<float> values = RandomLogProbs(
        &random, 150, vocab_size, seed % 2 == 0 ? 0.7F : 3, 0, seed % 4 == 0 ? 2 : 0);
    const auto plain =
        PlainPrefixBeamSearch(values, static_cast<size_t>(vocab_size), 0,
                              static_cast<size_t>(beam_size), static_cast<size_t>(token_beam));
    CtcPrefixBeamSearch search(Beam(beam_size, token_beam), vocab_size, 0);
    search.Advance(values.data(), 150);
    const std::vector<TokenSequence> nbest = search.NBest(beam_size);
    ASSERT_EQ(nbest.size(), plain.size());
    for (size_t i = 0; i < nbest.size(); ++i) {
      EXPECT_EQ(Ids(nbest[i]), plain[i].first);
      EXPECT_NEAR(nbest[i].score, plain[i].second, 1e-8);
      ExpectOrderedSpans(nbest[i], 150);
    }
  }
}

TEST(CtcPrefixBeamSearchTest, AnySplitGivesTheSame) {
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<float> values =
        RandomLogProbs(&random, 200, 6, seed % 2 == 0 ? 1.0F : 4, 0, 1);
    const SearchOptions options = Beam(1 + static_cast<int>(seed % 9), 4);
    CtcPrefixBeamSearch whole(options, 6, 0);
    whole.Advance(values.data(), 200);
    CtcPrefixBeamSearch pieces(options, 6, 0);
    AdvanceInPieces(&random, values, 6, &pieces);
    ExpectSame(pieces.NBest(100), whole.NBest(100));
    EXPECT_EQ(pieces.BestIds(), whole.BestIds());
  }
}

TEST(CtcPrefixBeamSearchTest, BestIdsAreTheBestSequenceAfterEveryFrame) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    // Nearly flat, so that the best prefix often changes.
    const std::vector<float> values = RandomLogProbs(&random, 300, 4, 0.4F);
    CtcPrefixBeamSearch search(Beam(12, 4), 4, 0);
    for (int64_t t = 0; t < 300; ++t) {
      search.Advance(values.data() + t * 4, 1);
      ASSERT_EQ(search.BestIds(), Ids(search.NBest(1).front())) << "frame " << t;
    }
  }
}

TEST(CtcPrefixBeamSearchTest, StableIdsAreWhatAllSequencesBeginWithForEver) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const std::vector<float> values =
        RandomLogProbs(&random, 400, 5, seed % 2 == 0 ? 1.5F : 5, 0, 1);
    CtcPrefixBeamSearch search(Beam(1 + static_cast<int>(seed % 9), 5), 5, 0);
    ExpectStableIdsStay(values, 5, &search);
  }
}

TEST(CtcPrefixBeamSearchTest, AgreesWithTheBestPathWhereTheModelIsSure) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    // One token of each frame has nearly all the probability.
    std::uniform_int_distribution<int> token(0, 4);
    std::vector<float> values(500, std::log(1e-6F));
    for (size_t t = 0; t < 100; ++t) {
      values[t * 5 + static_cast<size_t>(token(random))] = std::log(1 - 4e-6F);
    }
    CtcGreedySearch greedy(5, 0);
    greedy.Advance(values.data(), 100);
    for (const int beam_size : {1, 2, 8}) {
      CtcPrefixBeamSearch beam(Beam(beam_size, 5), 5, 0);
      beam.Advance(values.data(), 100);
      const TokenSequence best = beam.NBest(1).front();
      ExpectSame({{best.tokens, 0}}, {{greedy.NBest(1).front().tokens, 0}});
      EXPECT_GE(best.score, greedy.NBest(1).front().score - 1e-9);
    }
  }
}

TEST(CtcPrefixBeamSearchTest, TiesAreBrokenInOrderOfTokenId) {
  const std::vector<float> flat(4, std::log(.25F));
  CtcPrefixBeamSearch search(Beam(3, 4), 4, 2);
  search.Advance(flat.data(), 1);
  const std::vector<TokenSequence> nbest = search.NBest(3);
  ASSERT_EQ(nbest.size(), 3U);
  EXPECT_EQ(Ids(nbest[0]), std::vector<int32_t>{});
  EXPECT_EQ(Ids(nbest[1]), std::vector<int32_t>{0});
  EXPECT_EQ(Ids(nbest[2]), std::vector<int32_t>{1});

  CtcPrefixBeamSearch fewer(Beam(3, 1), 4, 2);  // only the lowest token, which is no blank
  fewer.Advance(flat.data(), 1);
  ASSERT_EQ(fewer.NBest(3).size(), 1U);
  EXPECT_EQ(Ids(fewer.NBest(3)[0]), std::vector<int32_t>{0});
}

TEST(CtcPrefixBeamSearchTest, CloneAndResetAreIndependent) {
  std::mt19937 random(11);
  const std::vector<float> values = RandomLogProbs(&random, 400, 5, 1);
  CtcPrefixBeamSearch search(Beam(8, 5), 5, 0);
  search.Advance(values.data(), 200);
  const std::unique_ptr<CtcSearch> clone = search.Clone();
  const std::vector<TokenSequence> halfway = search.NBest(8);
  search.Advance(values.data() + values.size() / 2, 200);
  ExpectSame(clone->NBest(8), halfway);
  clone->Advance(values.data() + values.size() / 2, 200);
  ExpectSame(clone->NBest(8), search.NBest(8));
  EXPECT_EQ(clone->BestIds(), search.BestIds());
  search.Reset();
  EXPECT_TRUE(search.BestIds().empty());
  search.Advance(values.data(), 400);
  ExpectSame(search.NBest(8), clone->NBest(8));
}

TEST(CtcPrefixBeamSearchTest, OnlyBlankInTheVocabulary) {
  const std::vector<float> values(10, 0.0F);
  CtcPrefixBeamSearch search(Beam(4, 4), 1, 0);
  search.Advance(values.data(), 10);
  ASSERT_EQ(search.NBest(4).size(), 1U);
  EXPECT_TRUE(search.NBest(4)[0].tokens.empty());
  EXPECT_EQ(search.NBest(4)[0].score, 0);
}

TEST(CtcPrefixBeamSearchTest, RejectsWhatIsNoDistributionAndStaysAsItWas) {
  std::mt19937 random(3);
  const std::vector<float> values = RandomLogProbs(&random, 5, 3, 1);
  CtcPrefixBeamSearch search(Beam(4, 3), 3, 0);
  search.Advance(values.data(), 5);
  const std::vector<TokenSequence> before = search.NBest(4);
  std::vector<float> broken = values;
  broken[13] = std::nanf("");
  EXPECT_THROW(search.Advance(broken.data(), 5), std::invalid_argument);
  const std::vector<float> impossible(3, kMinusInfinity);
  EXPECT_THROW(search.Advance(impossible.data(), 1), std::invalid_argument);
  ExpectSame(search.NBest(4), before);
  EXPECT_THROW(search.NBest(0), std::invalid_argument);
  EXPECT_THROW(CtcPrefixBeamSearch(Beam(0, 3), 3, 0), std::invalid_argument);
  EXPECT_THROW(CtcPrefixBeamSearch(Beam(3, 0), 3, 0), std::invalid_argument);
}

// A million frames (eleven hours) of near silence: only the text grows.
TEST(CtcPrefixBeamSearchTest, MemoryOfALongQuietStreamIsBounded) {
  std::mt19937 random(5);
  const std::vector<float> silence = RandomLogProbs(&random, 1000, 4, 1, 0, 12);
  const std::vector<float> word = RandomLogProbs(&random, 10, 4, 8);
  CtcPrefixBeamSearch search(Beam(4, 3), 4, 0);
  for (int i = 0; i < 1000; ++i) {
    search.Advance(silence.data(), 1000);
    if (i % 100 == 99) search.Advance(word.data(), 10);
  }
  const TokenSequence best = search.NBest(1).front();
  ExpectOrderedSpans(best, 1000100);
  EXPECT_LT(best.tokens.size(), 150U);
  EXPECT_GT(best.tokens.back().first_frame, 990000);
  EXPECT_LT(search.num_stored_nodes(), 1000U);
}

// Dense and uncertain: many prefixes come and go, and their memory is freed.
TEST(CtcPrefixBeamSearchTest, MemoryOfALongBusyStreamIsThatOfItsText) {
  std::mt19937 random(6);
  const std::vector<float> speech = RandomLogProbs(&random, 2000, 8, 2);
  CtcPrefixBeamSearch search(Beam(8, 5), 8, 0);
  for (int i = 0; i < 100; ++i) search.Advance(speech.data(), 2000);
  const TokenSequence best = search.NBest(1).front();
  ExpectOrderedSpans(best, 200000);
  EXPECT_GT(best.tokens.size(), 50000U);
  EXPECT_EQ(search.BestIds(), Ids(best));
  // Once as a prefix and once as an emission, and again where prefixes differ; a leak of one node
  // per frame and prefix would come to ten times that.
  EXPECT_LT(search.num_stored_nodes(), 4 * best.tokens.size());
}

}  // namespace
}  // namespace runnel
