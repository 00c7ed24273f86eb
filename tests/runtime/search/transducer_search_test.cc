// Searches of transducers: equal to plain loops and to sums over all alignments, and to themselves
// in any batch, under every cut of the frames and after any snapshot.
#include "runtime/search/transducer_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "runtime/snapshot/state_fields.h"
#include "runtime/stream/transducer_decoding.h"
#include "tests/runtime/search/transducer_search_support.h"
#include "tests/support/random_transducer.h"

namespace runnel {
namespace {

using kernels::MatmulType;
using testing::RandomEncoderRows;
using testing::RandomTransducer;
using testing::SmallTransducer;

struct GreedyResult {
  TokenIds ids;
  std::vector<int64_t> frames;
  double score = 0;
};

// The definition of greedy search in ../shared/reference: RNN-T and TDT.
GreedyResult GreedyByLoops(const TransducerConfig& config, Oracle* oracle) {
  GreedyResult result;
  int64_t t = 0;
  int num_symbols = 0;
  while (t < oracle->num_frames()) {
    const std::vector<float>& row = oracle->LogProbs(t, result.ids);
    const auto labels_end = row.begin() + config.vocab_size;
    const auto label = std::max_element(row.begin(), labels_end) - row.begin();
    result.score += static_cast<double>(row[static_cast<size_t>(label)]);
    const bool is_blank = label == config.blank_id;
    int64_t advance = is_blank ? 1 : 0;
    if (!config.durations.empty()) {
      const auto best = std::max_element(labels_end, row.end());
      result.score += static_cast<double>(*best);
      advance = config.durations[static_cast<size_t>(best - labels_end)];
      if (is_blank) advance = std::max<int64_t>(1, advance);
    }
    if (!is_blank) {
      result.ids.push_back(static_cast<int32_t>(label));
      result.frames.push_back(t);
      ++num_symbols;
      if (advance == 0 && num_symbols == config.max_symbols) advance = 1;
    }
    if (advance > 0) num_symbols = 0;
    t += advance;
  }
  return result;
}

struct Kind {
  std::string predictor;
  std::vector<int64_t> durations;
};

std::vector<Kind> AllKinds() {
  return {{"lstm1", {}},
          {"lstm2", {}},
          {"conv", {}},
          {"embedding", {}},
          {"lstm1", {0, 1, 2, 3, 4}},
          {"lstm2", {0, 1, 3}},
          {"conv", {1, 2}}};
}

TEST(TransducerSearchTest, GreedyIsTheMostProbableLabelAtEveryStep) {
  int num_full = 0;  // frames with max_symbols tokens
  for (const Kind& kind : AllKinds()) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(kind.predictor + ", seed " + std::to_string(seed));
      const TransducerConfig config = SmallTransducer(kind.predictor, 5, kind.durations);
      const auto transducer = RandomTransducer(config, seed);
      const Matrix rows = RandomEncoderRows(40, seed);
      Oracle oracle(*transducer, rows);
      const GreedyResult expected = GreedyByLoops(config, &oracle);
      const std::vector<TokenSequence> found =
          SearchAll(*transducer, oracle.projected(), SearchOptions(), 1);
      ASSERT_EQ(found.size(), 1U);
      EXPECT_EQ(Ids(found[0]), expected.ids);
      EXPECT_NEAR(found[0].score, expected.score, 1e-5);
      std::map<int64_t, int> num_by_frame;
      for (size_t i = 0; i < expected.frames.size(); ++i) {
        EXPECT_EQ(found[0].tokens[i].first_frame, expected.frames[i]);
        if (++num_by_frame[expected.frames[i]] == config.max_symbols) ++num_full;
      }
    }
  }
  EXPECT_GT(num_full, 20);
}

SearchOptions Everything(SearchMethod method) {
  SearchOptions options;
  options.method = method;
  options.beam_size = 5000;
  options.token_beam = 5000;
  return options;
}

TEST(TransducerSearchTest, ABeamThatHoldsEverythingSumsOverAllAlignments) {
  for (const Kind& kind : AllKinds()) {
    for (uint64_t seed = 0; seed < 4; ++seed) {
      for (const int max_symbols : {1, 2}) {
        SCOPED_TRACE(kind.predictor + ", seed " + std::to_string(seed));
        const TransducerConfig config = SmallTransducer(kind.predictor, 3, kind.durations);
        const auto transducer = RandomTransducer(config, seed);
        Oracle oracle(*transducer, RandomEncoderRows(3, seed, 0.5));
        SearchOptions options = Everything(SearchMethod::kPrefixBeam);
        options.max_symbols = max_symbols;
        ExpectSums(SearchAll(*transducer, oracle.projected(), options, 5000),
                   SumOverAlignments(config, &oracle, max_symbols, false));
      }
    }
  }
}

TEST(TransducerSearchTest, OneLabelPerFrameSumsOverItsAlignments) {
  for (const std::string predictor : {"lstm1", "conv", "embedding"}) {
    for (const TransducerBeam beam : {TransducerBeam::kModified, TransducerBeam::kPrefix}) {
      TransducerConfig config = SmallTransducer(predictor, 3);
      config.beam = beam;
      const auto transducer = RandomTransducer(config, 7);
      Oracle oracle(*transducer, RandomEncoderRows(5, 7, 0.5));
      ExpectSums(
          SearchAll(*transducer, oracle.projected(), Everything(SearchMethod::kPrefixBeam), 5000),
          SumOverAlignments(config, &oracle, 1, true));
    }
  }
}

// To the bit, in every precision.
TEST(TransducerSearchTest, AnyBatchAndAnyCutGiveTheSame) {
  constexpr uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  for (const Kind& kind : AllKinds()) {
    for (const MatmulType type : {MatmulType::kFloat32, MatmulType::kBfloat16, MatmulType::kInt8}) {
      SCOPED_TRACE(kind.predictor + ", seed " + std::to_string(kSeed));
      const TransducerConfig config = SmallTransducer(kind.predictor, 7, kind.durations);
      const auto transducer = RandomTransducer(config, 3, type);
      std::vector<Matrix> projected;
      std::vector<std::unique_ptr<TransducerSearch>> searches;
      for (const SearchOptions& options : AllSearches(config)) {
        for (int i = 0; i < 3; ++i) {
          const Matrix rows = RandomEncoderRows(1 + static_cast<int64_t>(random() % 60), random());
          projected.push_back(transducer->ProjectEncoder(rows.rows()));
          searches.push_back(MakeTransducerSearch(options, *transducer));
        }
      }
      std::vector<TransducerSearch*> pointers;
      std::vector<const Matrix*> matrices;
      for (size_t i = 0; i < searches.size(); ++i) {
        pointers.push_back(searches[i].get());
        matrices.push_back(&projected[i]);
      }
      Advance(*transducer, pointers, matrices, &random, 17);
      for (size_t i = 0; i < searches.size(); ++i) {
        SCOPED_TRACE("search " + std::to_string(i));
        searches[i]->Finish();
        ExpectSame(searches[i]->NBest(4),
                   SearchAll(*transducer, projected[i], AllSearches(config)[i / 3], 4));
      }
    }
  }
}

TEST(TransducerSearchTest, AnySnapshotAndAnyCopyContinueTheSame) {
  std::mt19937_64 random(6);
  for (const Kind& kind : AllKinds()) {
    const TransducerConfig config = SmallTransducer(kind.predictor, 7, kind.durations);
    const auto transducer = RandomTransducer(config, 4);
    const Matrix projected = transducer->ProjectEncoder(RandomEncoderRows(50, 8).rows());
    for (const SearchOptions& options : AllSearches(config)) {
      SCOPED_TRACE(kind.predictor);
      auto search = MakeTransducerSearch(options, *transducer);
      size_t num_stable = 0;
      for (int64_t t = 0; t < projected.count(); ++t) {
        const Matrix one(std::as_const(projected).rows().Part(t, 1));
        Advance(*transducer, {search.get()}, {&one}, &random, 1);
        const std::string bytes = Saved(*search);
        auto restored = Restored(bytes, options, *transducer);
        EXPECT_EQ(Saved(*restored), bytes);
        EXPECT_EQ(restored->BestIds(), search->BestIds());
        EXPECT_EQ(restored->NumStableIds(), search->NumStableIds());
        EXPECT_GE(search->NumStableIds(), num_stable);
        EXPECT_LE(search->NumStableIds(), search->BestIds().size());
        num_stable = search->NumStableIds();
        EXPECT_EQ(Ids(search->NBest(1).front()), search->BestIds());
        const std::vector<TokenSpan> since = search->BestTokensSince(num_stable);
        EXPECT_EQ(since.size(), search->BestIds().size() - num_stable);
        search = t % 2 == 0 ? std::move(restored) : restored->Clone();
      }
      search->Finish();
      ExpectSame(search->NBest(4), SearchAll(*transducer, projected, options, 4));
    }
  }
}

// The next utterance of each sequence that may be handed out, not only of the best one.
TEST(TransducerSearchTest, ThePredictorIsThatOfTheTokensThatWereHandedOut) {
  for (const Kind& kind : AllKinds()) {
    const TransducerConfig config = SmallTransducer(kind.predictor, 7, kind.durations);
    const auto transducer = RandomTransducer(config, 4);
    const Matrix rows = RandomEncoderRows(30, 8);
    Oracle oracle(*transducer, rows);
    for (const SearchOptions& options : AllSearches(config)) {
      SCOPED_TRACE(kind.predictor);
      const auto search = MakeTransducerSearch(options, *transducer);
      std::mt19937_64 random(1);
      Advance(*transducer, {search.get()}, {&oracle.projected()}, &random, 30);
      search->Finish();
      for (const TokenSequence& sequence : search->NBest(4)) {
        const auto next = search->Clone();
        next->ReturnTo(sequence.tokens, 0);
        const int64_t frame = next->num_frames();
        if (frame >= oracle.num_frames()) continue;
        EXPECT_GE(frame, sequence.tokens.empty() ? 0 : sequence.tokens.back().first_frame);
        next->BeginFrame(nullptr);
        ASSERT_EQ(next->queries().size(), 1U);
        const Matrix found = ToFloat32(
            transducer->LogProbs({{oracle.projected().rows().Part(frame, 1), next->queries()[0]}}));
        const float* begin = found.rows().float32();
        EXPECT_EQ(std::vector<float>(begin, begin + found.dim()),
                  oracle.LogProbs(frame, Ids(sequence)));
      }
    }
  }
}

// The tokens of all utterances count, also after a snapshot.
TEST(TransducerSearchTest, AFrameThatIsSearchedAgainHasNoMoreTokensThanAnyOther) {
  std::mt19937_64 random(10);
  int num_again = 0;  // utterances that begin in a frame with tokens
  int num_full = 0;   // frames with max_symbols tokens
  for (const Kind& kind : AllKinds()) {
    const TransducerConfig config = SmallTransducer(kind.predictor, 5, kind.durations);
    const auto transducer = RandomTransducer(config, 4);
    for (SearchOptions options : AllSearches(config)) {
      for (const int max_symbols : {1, 2, 3}) {
        SCOPED_TRACE(kind.predictor + ", search " +
                     std::to_string(static_cast<int>(options.method)) + ", max_symbols " +
                     std::to_string(max_symbols));
        options.max_symbols = max_symbols;
        auto search = MakeTransducerSearch(options, *transducer);
        std::map<int64_t, int> num_by_frame;
        for (int utterance = 0; utterance < 60; ++utterance) {
          const int64_t begin = search->num_frames();
          const auto count = static_cast<int64_t>(random() % 8);
          const Matrix rows = transducer->ProjectEncoder(RandomEncoderRows(count, random()).rows());
          Advance(*transducer, {search.get()}, {&rows}, &random, 2);
          search->Finish();
          const std::vector<TokenSpan> tokens = search->NBest(1).front().tokens;
          for (const TokenSpan& token : tokens) ++num_by_frame[token.first_frame];
          num_again += num_by_frame.count(begin) > 0 ? 1 : 0;
          search->ReturnTo(tokens, begin);
          search = Restored(Saved(*search), options, *transducer);
        }
        for (const auto& [frame, num_tokens] : num_by_frame) {
          EXPECT_LE(num_tokens, max_symbols) << "frame " << frame;
          num_full += num_tokens == max_symbols ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GE(num_again, 300);
  EXPECT_GE(num_full, 300);
}

TEST(TransducerSearchTest, DamagedSnapshotsAreRefusedOrSafe) {
  std::mt19937_64 random(9);
  const TransducerConfig config = SmallTransducer("lstm1", 7, {0, 1, 2});
  const auto transducer = RandomTransducer(config, 4);
  const Matrix projected = transducer->ProjectEncoder(RandomEncoderRows(20, 8).rows());
  int num_refused = 0;
  for (const SearchOptions& options : AllSearches(config)) {
    const auto search = MakeTransducerSearch(options, *transducer);
    Advance(*transducer, {search.get()}, {&projected}, &random, 20);
    const std::string bytes = Saved(*search);
    for (int i = 0; i < 400; ++i) {
      std::string damaged = bytes;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      if (i % 4 == 0) damaged.resize(random() % damaged.size());
      auto restored = MakeTransducerSearch(options, *transducer);
      try {
        StateReader reader(damaged);
        restored->Restore(&reader);
      } catch (const SnapshotError&) {
        ++num_refused;
        continue;
      }
      TransducerSegment segment;
      segment.search = restored.get();
      segment.encoder = projected.rows();
      segment.after_frame = [] {};
      std::vector<TransducerSegment> segments = {segment};
      SearchTransducer(*transducer, &segments);
      if (segments[0].error.empty()) restored->NBest(4);
    }
  }
  EXPECT_GT(num_refused, 300);
}

// Where each token may begin and how long it lasts.
void ExpectSpans(const std::vector<TokenSpan>& tokens, const TransducerConfig& config,
                 int max_symbols, int64_t num_frames) {
  std::map<int64_t, int> num_by_frame;
  int64_t begin = 0;  // of the next token
  for (const TokenSpan& token : tokens) {
    EXPECT_GE(token.first_frame, begin);
    EXPECT_LT(token.first_frame, num_frames);
    const int64_t length = token.last_frame - token.first_frame + 1;
    const std::vector<int64_t>& durations = config.durations;
    const bool has_duration = std::any_of(durations.begin(), durations.end(), [length](int64_t d) {
      return std::max<int64_t>(1, d) == length;
    });
    EXPECT_TRUE(durations.empty() ? length == 1 : has_duration) << length;
    // A token of one frame may have the duration 0.
    begin = length == 1 ? token.first_frame : token.last_frame + 1;
    EXPECT_LE(++num_by_frame[token.first_frame], max_symbols);
    EXPECT_GT(token.confidence, 0);
    EXPECT_LE(token.confidence, 1);
  }
}

TEST(TransducerSearchTest, TokensBeginInOrderAndLastForTheirDurations) {
  constexpr int64_t kFrames = 15;
  size_t num_tokens = 0;
  for (const Kind& kind : AllKinds()) {
    const TransducerConfig config = SmallTransducer(kind.predictor, 5, kind.durations);
    const auto transducer = RandomTransducer(config, 7);
    const Matrix projected = transducer->ProjectEncoder(RandomEncoderRows(kFrames, 9).rows());
    for (SearchOptions options : AllSearches(config)) {
      for (const int max_symbols : {0, 1, 2, 100}) {
        SCOPED_TRACE(kind.predictor + ", max_symbols " + std::to_string(max_symbols));
        options.max_symbols = max_symbols;
        const int most = max_symbols == 0 ? config.max_symbols : max_symbols;
        for (const int beam_size : {1, 5}) {
          options.beam_size = beam_size;
          const std::vector<TokenSequence> found = SearchAll(*transducer, projected, options, 9);
          for (const TokenSequence& sequence : found) {
            ExpectSpans(sequence.tokens, config, most, kFrames);
            num_tokens += sequence.tokens.size();
          }
          if (options.method != SearchMethod::kGreedy && kind.durations.empty()) {
            EXPECT_LE(found.size(), static_cast<size_t>(beam_size));
          }
        }
      }
    }
  }
  EXPECT_GT(num_tokens, 500U);
}

// Endpoints read it. A frame that TDT passes over has that of the frame before.
TEST(TransducerSearchTest, TheBlanksProbabilityIsThatAfterTheBestSequence) {
  int num_new = 0;
  int num_kept = 0;
  for (const Kind& kind : AllKinds()) {
    const TransducerConfig config = SmallTransducer(kind.predictor, 5, kind.durations);
    const auto transducer = RandomTransducer(config, 7);
    Oracle oracle(*transducer, RandomEncoderRows(40, 9));
    std::mt19937_64 random(1);
    for (const SearchOptions& options : AllSearches(config)) {
      SCOPED_TRACE(kind.predictor);
      const auto search = MakeTransducerSearch(options, *transducer);
      float before = 0;
      for (int64_t t = 0; t < 40; ++t) {
        const float expected =
            oracle.LogProbs(t, search->BestIds())[static_cast<size_t>(config.blank_id)];
        const Matrix one(oracle.projected().rows().Part(t, 1));
        Advance(*transducer, {search.get()}, {&one}, &random, 1);
        const bool is_kept = search->blank_log_prob() == before && t > 0 && !kind.durations.empty();
        if (!is_kept) {
          EXPECT_NEAR(search->blank_log_prob(), expected, 1e-4) << t;
        }
        (is_kept ? num_kept : num_new) += 1;
        before = search->blank_log_prob();
      }
    }
  }
  EXPECT_GT(num_new, 500);
  EXPECT_GT(num_kept, 30);
}

}  // namespace
}  // namespace runnel
