// Beam searches of transducers with hotwords, a language model and a CTC head: equal to brute force
// over all alignments. Confidences: equal to their definition.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/search/transducer_search.h"
#include "runtime/stream/transducer_decoding.h"
#include "tests/runtime/search/scored_words.h"
#include "tests/runtime/search/search_test_support.h"
#include "tests/runtime/search/transducer_search_support.h"
#include "tests/support/random_transducer.h"

namespace runnel {
namespace {

using testing::RandomEncoderRows;
using testing::RandomTransducer;

constexpr int kVocabSize = 5;  // of Tokens()

// A transducer, and input so short that all alignments can be listed.
struct Kind {
  std::string predictor;
  std::vector<int64_t> durations;
  TransducerBeam beam;
  int64_t num_frames;
  int max_symbols;

  bool one_label() const { return beam != TransducerBeam::kTimeSynchronous; }
  TransducerConfig Config() const {
    TransducerConfig config = testing::SmallTransducer(predictor, kVocabSize, durations);
    config.blank_id = 0;
    config.beam = beam;
    config.max_symbols = max_symbols;
    return config;
  }
};

std::vector<Kind> AllKinds() {
  return {{"lstm2", {}, TransducerBeam::kTimeSynchronous, 2, 2},
          {"lstm1", {}, TransducerBeam::kTimeSynchronous, 3, 1},
          {"lstm2", {0, 1, 3}, TransducerBeam::kTimeSynchronous, 2, 1},
          {"conv", {1, 2}, TransducerBeam::kTimeSynchronous, 3, 1},
          {"conv", {}, TransducerBeam::kModified, 4, 1},
          {"embedding", {}, TransducerBeam::kPrefix, 4, 1}};
}

// The scores of the hotwords are so small that no token reaches the bound of its bonus.
class TransducerScoredSearchTest : public ScoredWordsTest {
 protected:
  TransducerScoredSearchTest() { hotword_scale_ = 1.0 / 1024; }
};

TEST_F(TransducerScoredSearchTest, EqualsBruteForceOverAllAlignments) {
  for (const Kind& kind : AllKinds()) {
    const TransducerConfig config = kind.Config();
    for (uint64_t seed = 0; seed < 6; ++seed) {
      SCOPED_TRACE(kind.predictor + ", seed " + std::to_string(seed));
      const SearchOptions options = Options(seed % 3 != 1, seed % 3 != 0);
      const auto transducer = RandomTransducer(config, seed);
      Oracle oracle(*transducer, RandomEncoderRows(kind.num_frames, seed, 0.5));
      std::map<TokenIds, double> expected =
          SumOverAlignments(config, &oracle, kind.max_symbols, kind.one_label());
      for (auto& [ids, score] : expected) score += Bonus(Tokens().Text(ids), options);
      const std::vector<TokenSequence> found =
          SearchAll(*transducer, oracle.projected(), options, 10000);
      EXPECT_EQ(found.size(), expected.size());
      ExpectSums(found, expected);
      double before = std::numeric_limits<double>::infinity();
      for (const TokenSequence& sequence : found) {
        const double length = static_cast<double>(sequence.tokens.size());
        const double rank =
            sequence.score / (kind.beam == TransducerBeam::kModified ? length + 2 : 1);
        EXPECT_LE(rank, before) << "the best is not the first";
        before = rank;
      }
    }
  }
}

TEST_F(TransducerScoredSearchTest, AnySnapshotAndAnyCopyContinueTheSame) {
  std::mt19937_64 random(26);
  hotword_scale_ = 1;
  for (const Kind& kind : AllKinds()) {
    const auto transducer = RandomTransducer(kind.Config(), 4);
    const Matrix projected = transducer->ProjectEncoder(RandomEncoderRows(50, 8).rows());
    for (const int scorers : {1, 2, 3}) {
      SCOPED_TRACE(kind.predictor + ", scorers " + std::to_string(scorers));
      const SearchOptions options = Options(scorers != 2, scorers != 1, /*beam_size=*/3);
      auto search = MakeTransducerSearch(options, *transducer);
      for (int64_t t = 0; t < projected.count(); ++t) {
        const Matrix one(std::as_const(projected).rows().Part(t, 1));
        Advance(*transducer, {search.get()}, {&one}, &random, 1);
        auto restored = Restored(Saved(*search), options, *transducer);
        ExpectSame(restored->NBest(20), search->NBest(20));
        EXPECT_EQ(restored->NumStableIds(), search->NumStableIds());
        search = t % 2 == 0 ? std::move(restored) : search->Clone();
      }
      search->Finish();
      ExpectSame(search->NBest(20), SearchAll(*transducer, projected, options, 20));
      const auto restored = Restored(Saved(*search), options, *transducer);
      restored->Finish();
      ExpectSame(restored->NBest(20), search->NBest(20));
    }
  }
}

// The log probabilities of a CTC head, (frames, kVocabSize).
std::vector<float> RandomCtc(int64_t num_frames, unsigned seed) {
  std::mt19937 random(seed);
  return RandomLogProbs(&random, num_frames, kVocabSize, 2);
}

std::vector<TokenSequence> SearchWithCtc(const Transducer& transducer, const Matrix& projected,
                                         const std::vector<float>& ctc_log_probs,
                                         const SearchOptions& options) {
  const auto search = MakeTransducerSearch(options, transducer);
  std::vector<TransducerSegment> segments(1);
  segments[0].search = search.get();
  segments[0].encoder = projected.rows();
  segments[0].ctc_log_probs = ctc_log_probs.data();
  segments[0].after_frame = [] {};
  SearchTransducer(transducer, &segments);
  EXPECT_EQ(segments[0].error, "");
  search->Finish();
  return search->NBest(10000);
}

TEST_F(TransducerScoredSearchTest, TheCtcHeadHasItsPartOfEveryProbability) {
  for (const Kind& kind : AllKinds()) {
    if (!kind.one_label()) continue;
    const TransducerConfig config = kind.Config();
    for (const double weight : {0.0, 0.3, 1.0}) {
      SCOPED_TRACE(kind.predictor + ", weight " + std::to_string(weight));
      const auto transducer = RandomTransducer(config, 3);
      Oracle oracle(*transducer, RandomEncoderRows(kind.num_frames, 3, 0.5));
      const std::vector<float> ctc_log_probs = RandomCtc(kind.num_frames, 27);
      oracle.Fuse(ctc_log_probs, weight);
      SearchOptions options = Options(true, true);
      options.ctc_weight = weight;
      std::map<TokenIds, double> expected = SumOverAlignments(config, &oracle, 1, true);
      for (auto& [ids, score] : expected) score += Bonus(Tokens().Text(ids), options);
      ExpectSums(SearchWithCtc(*transducer, oracle.projected(), ctc_log_probs, options), expected);
    }
  }
}

// The confidence of a token is its probability where it was emitted, after the tokens before it.
void ExpectConfidences(const std::vector<TokenSequence>& sequences, Oracle* oracle) {
  for (const TokenSequence& sequence : sequences) {
    TokenIds before;
    for (const TokenSpan& token : sequence.tokens) {
      const std::vector<float>& row = oracle->LogProbs(token.first_frame, before);
      EXPECT_NEAR(token.confidence, std::exp(row[static_cast<size_t>(token.id)]), 1e-5);
      EXPECT_GE(token.confidence, 0);
      EXPECT_LE(token.confidence, 1);
      before.push_back(token.id);
    }
  }
}

TEST_F(TransducerScoredSearchTest, AConfidenceIsTheProbabilityOfTheTokenWhereItWasEmitted) {
  size_t num_tokens = 0;
  for (const Kind& kind : AllKinds()) {
    SCOPED_TRACE(kind.predictor);
    const auto transducer = RandomTransducer(kind.Config(), 5);
    Oracle oracle(*transducer, RandomEncoderRows(30, 5));
    for (SearchOptions options : {SearchOptions(), Options(true, true, 4)}) {
      const std::vector<TokenSequence> found =
          SearchAll(*transducer, oracle.projected(), options, 4);
      ExpectConfidences(found, &oracle);
      num_tokens += found.front().tokens.size();
    }
    if (!kind.one_label()) continue;
    const std::vector<float> ctc_log_probs = RandomCtc(30, 28);
    Oracle fused(*transducer, RandomEncoderRows(30, 5));
    fused.Fuse(ctc_log_probs, 0.4);
    SearchOptions options = Options(false, false, 4);
    options.ctc_weight = 0.4;
    ExpectConfidences(SearchWithCtc(*transducer, fused.projected(), ctc_log_probs, options),
                      &fused);
  }
  EXPECT_GT(num_tokens, 100U);
}

}  // namespace
}  // namespace runnel
