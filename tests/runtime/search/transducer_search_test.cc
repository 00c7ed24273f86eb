// Searches of transducers: equal to plain loops and to sums over all alignments, and to themselves
// in any batch, under every cut of the frames and after any snapshot.
#include "runtime/search/transducer_search.h"

#include <gtest/gtest.h>

#include <algorithm>
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

#include "runtime/search/log_probs.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/stream/transducer_decoding.h"
#include "tests/support/error_message.h"
#include "tests/support/random_transducer.h"

namespace runnel {
namespace {

using testing::ErrorMessage;
using testing::RandomEncoderRows;
using testing::RandomTransducer;
using testing::SmallTransducer;
using testing::TransducerBackend;

constexpr double kImpossible = -std::numeric_limits<double>::infinity();

using Ids = std::vector<int32_t>;

// The log probabilities of one label after `ids`, at one frame: (num_outputs).
class Oracle {
 public:
  Oracle(const Transducer& transducer, const Matrix& rows)
      : transducer_(transducer), projected_(transducer.ProjectEncoder(rows.rows())) {
    states_[{}] = transducer.Start();
  }

  const std::vector<float>& LogProbs(int64_t frame, const Ids& ids) {
    std::vector<float>& known = log_probs_[{frame, ids}];
    if (known.empty()) {
      const Matrix found = ToFloat32(transducer_.LogProbs(
          {{std::as_const(projected_).rows().Part(frame, 1), State(ids).get()}}));
      known.assign(found.rows().float32(), found.rows().float32() + found.dim());
    }
    return known;
  }

  int64_t num_frames() const { return projected_.count(); }
  const Matrix& projected() const { return projected_; }

 private:
  const SharedPredictorState& State(const Ids& ids) {
    SharedPredictorState& known = states_[ids];
    if (known == nullptr) {
      const Ids before(ids.begin(), ids.end() - 1);
      known = transducer_.Advance({{State(before).get(), ids.back()}}).front();
    }
    return states_[ids];
  }

  const Transducer& transducer_;
  const Matrix projected_;
  std::map<Ids, SharedPredictorState> states_;
  std::map<std::pair<int64_t, Ids>, std::vector<float>> log_probs_;
};

Ids IdsOf(const TokenSequence& sequence) {
  Ids ids;
  for (const TokenSpan& token : sequence.tokens) ids.push_back(token.id);
  return ids;
}

// Gives rows to searches in pieces of random sizes, several searches at a time.
void Advance(const Transducer& transducer, const std::vector<TransducerSearch*>& searches,
             const std::vector<const Matrix*>& projected, std::mt19937_64* random,
             int64_t max_piece) {
  std::vector<int64_t> done(searches.size(), 0);
  for (bool busy = true; busy;) {
    busy = false;
    std::vector<TransducerSegment> segments;
    for (size_t i = 0; i < searches.size(); ++i) {
      const int64_t left = projected[i]->count() - done[i];
      const int64_t piece =
          std::min(left, static_cast<int64_t>((*random)() % static_cast<uint64_t>(max_piece + 1)));
      TransducerSegment segment;
      segment.search = searches[i];
      segment.encoder = projected[i]->rows().Part(done[i], piece);
      segment.after_frame = [] {};
      segments.push_back(segment);
      done[i] += piece;
      busy = busy || done[i] < projected[i]->count();
    }
    SearchTransducer(transducer, &segments);
    for (const TransducerSegment& segment : segments) EXPECT_EQ(segment.error, "");
  }
}

std::vector<TokenSequence> SearchAll(const Transducer& transducer, const Matrix& projected,
                                     const SearchOptions& options, int n) {
  const auto search = MakeTransducerSearch(options, transducer);
  std::mt19937_64 random(1);
  Advance(transducer, {search.get()}, {&projected}, &random, projected.count());
  EXPECT_EQ(search->num_frames(), projected.count());
  search->Finish();
  return search->NBest(n);
}

struct GreedyResult {
  Ids ids;
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

// Log probability of every token sequence: the sum over its alignments, with at most
// `max_symbols` tokens that stay on a frame. One label per frame if `one_label`.
std::map<Ids, double> SumOverAlignments(const TransducerConfig& config, Oracle* oracle,
                                        int max_symbols, bool one_label) {
  // By frame to read next, tokens of that frame so far, and sequence.
  std::map<std::pair<int64_t, int>, std::map<Ids, double>> open;
  open[{0, 0}][{}] = 0;
  std::map<Ids, double> done;
  const auto add = [](std::map<Ids, double>* to, const Ids& ids, double score) {
    const auto [place, is_new] = to->emplace(ids, score);
    if (!is_new) place->second = LogAdd(place->second, score);
  };
  while (!open.empty()) {
    const auto [frame, symbols] = open.begin()->first;
    const std::map<Ids, double> sequences = open.begin()->second;
    open.erase(open.begin());
    for (const auto& [ids, score] : sequences) {
      if (frame >= oracle->num_frames()) {
        add(&done, ids, score);
        continue;
      }
      const std::vector<float>& row = oracle->LogProbs(frame, ids);
      for (int32_t label = 0; label < config.vocab_size; ++label) {
        const bool is_blank = label == config.blank_id;
        Ids next = ids;
        if (!is_blank) next.push_back(label);
        const double after = score + static_cast<double>(row[static_cast<size_t>(label)]);
        const auto go_on = [&](int64_t duration, double sum) {
          if (is_blank || one_label) duration = std::max<int64_t>(1, duration);
          if (duration > 0) {
            add(&open[{frame + duration, 0}], next, sum);
          } else if (symbols < max_symbols) {
            add(&open[{frame, symbols + 1}], next, sum);
          }
        };
        if (config.durations.empty()) {
          go_on(0, after);
          continue;
        }
        for (size_t k = 0; k < config.durations.size(); ++k) {
          const float duration = row[static_cast<size_t>(config.vocab_size) + k];
          go_on(config.durations[k], after + static_cast<double>(duration));
        }
      }
    }
  }
  return done;
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
      const auto transducer = RandomTransducer(config, TransducerBackend::kFloat64, seed);
      const Matrix rows = RandomEncoderRows(40, seed, DataType::kFloat64);
      Oracle oracle(*transducer, rows);
      const GreedyResult expected = GreedyByLoops(config, &oracle);
      const std::vector<TokenSequence> found =
          SearchAll(*transducer, oracle.projected(), SearchOptions(), 1);
      ASSERT_EQ(found.size(), 1U);
      EXPECT_EQ(IdsOf(found[0]), expected.ids);
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

// The sequences of a beam that holds everything have the sums over all alignments.
void ExpectSums(const std::vector<TokenSequence>& found, const std::map<Ids, double>& expected) {
  std::map<Ids, double> sums;  // with TDT a sequence may wait for several frames
  for (const TokenSequence& sequence : found) {
    const auto [place, is_new] = sums.emplace(IdsOf(sequence), sequence.score);
    if (!is_new) place->second = LogAdd(place->second, sequence.score);
  }
  EXPECT_EQ(sums.size(), expected.size());
  for (const auto& [ids, score] : expected) {
    ASSERT_EQ(sums.count(ids), 1U);
    EXPECT_NEAR(sums[ids], score, 1e-5);
  }
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
        const auto transducer = RandomTransducer(config, TransducerBackend::kFloat64, seed);
        Oracle oracle(*transducer, RandomEncoderRows(3, seed, DataType::kFloat64, 0.5));
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
      const auto transducer = RandomTransducer(config, TransducerBackend::kFloat64, 7);
      Oracle oracle(*transducer, RandomEncoderRows(5, 7, DataType::kFloat64, 0.5));
      ExpectSums(
          SearchAll(*transducer, oracle.projected(), Everything(SearchMethod::kPrefixBeam), 5000),
          SumOverAlignments(config, &oracle, 1, true));
    }
  }
}

std::vector<SearchOptions> AllSearches() {
  SearchOptions greedy;
  SearchOptions beam;
  beam.method = SearchMethod::kPrefixBeam;
  beam.beam_size = 4;
  SearchOptions modified = beam;
  modified.method = SearchMethod::kModifiedBeam;
  return {greedy, beam, modified};
}

void ExpectSame(const std::vector<TokenSequence>& a, const std::vector<TokenSequence>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].score, b[i].score);
    ASSERT_EQ(IdsOf(a[i]), IdsOf(b[i]));
    for (size_t k = 0; k < a[i].tokens.size(); ++k) {
      EXPECT_EQ(a[i].tokens[k].first_frame, b[i].tokens[k].first_frame);
      EXPECT_EQ(a[i].tokens[k].last_frame, b[i].tokens[k].last_frame);
      EXPECT_EQ(a[i].tokens[k].confidence, b[i].tokens[k].confidence);
    }
  }
}

// On the CPU backend to the bit, in every precision.
TEST(TransducerSearchTest, AnyBatchAndAnyCutGiveTheSame) {
  constexpr uint64_t kSeed = 5;
  std::mt19937_64 random(kSeed);
  std::vector<TransducerBackend> backends = {
      TransducerBackend::kCpuFloat32, TransducerBackend::kCpuBfloat16, TransducerBackend::kCpuInt8};
  for (const Kind& kind : AllKinds()) {
    for (const TransducerBackend backend : backends) {
      SCOPED_TRACE(kind.predictor + ", seed " + std::to_string(kSeed));
      const TransducerConfig config = SmallTransducer(kind.predictor, 7, kind.durations);
      const auto transducer = RandomTransducer(config, backend, 3);
      std::vector<Matrix> projected;
      std::vector<std::unique_ptr<TransducerSearch>> searches;
      for (const SearchOptions& options : AllSearches()) {
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
                   SearchAll(*transducer, projected[i], AllSearches()[i / 3], 4));
      }
    }
  }
}

std::string Saved(const TransducerSearch& search) {
  StateWriter writer;
  search.Save(&writer);
  return writer.Take();
}

TEST(TransducerSearchTest, AnySnapshotAndAnyCopyContinueTheSame) {
  std::mt19937_64 random(6);
  for (const Kind& kind : AllKinds()) {
    const TransducerConfig config = SmallTransducer(kind.predictor, 7, kind.durations);
    const auto transducer = RandomTransducer(config, TransducerBackend::kCpuFloat32, 4);
    const Matrix projected = transducer->ProjectEncoder(RandomEncoderRows(50, 8).rows());
    for (const SearchOptions& options : AllSearches()) {
      SCOPED_TRACE(kind.predictor);
      auto search = MakeTransducerSearch(options, *transducer);
      size_t num_stable = 0;
      for (int64_t t = 0; t < projected.count(); ++t) {
        const Matrix one(std::as_const(projected).rows().Part(t, 1));
        Advance(*transducer, {search.get()}, {&one}, &random, 1);
        const std::string bytes = Saved(*search);
        auto restored = MakeTransducerSearch(options, *transducer);
        StateReader reader(bytes);
        restored->Restore(&reader);
        EXPECT_TRUE(reader.at_end());
        EXPECT_EQ(Saved(*restored), bytes);
        EXPECT_EQ(restored->BestIds(), search->BestIds());
        EXPECT_EQ(restored->NumStableIds(), search->NumStableIds());
        EXPECT_GE(search->NumStableIds(), num_stable);
        EXPECT_LE(search->NumStableIds(), search->BestIds().size());
        num_stable = search->NumStableIds();
        EXPECT_EQ(IdsOf(search->NBest(1).front()), search->BestIds());
        const std::vector<TokenSpan> since = search->BestTokensSince(num_stable);
        EXPECT_EQ(since.size(), search->BestIds().size() - num_stable);
        search = t % 2 == 0 ? std::move(restored) : restored->Clone();
      }
      search->Finish();
      ExpectSame(search->NBest(4), SearchAll(*transducer, projected, options, 4));
    }
  }
}

TEST(TransducerSearchTest, DamagedSnapshotsAreRefusedOrSafe) {
  std::mt19937_64 random(9);
  const TransducerConfig config = SmallTransducer("lstm1", 7, {0, 1, 2});
  const auto transducer = RandomTransducer(config, TransducerBackend::kCpuFloat32, 4);
  const Matrix projected = transducer->ProjectEncoder(RandomEncoderRows(20, 8).rows());
  int num_refused = 0;
  for (const SearchOptions& options : AllSearches()) {
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

TEST(TransducerSearchTest, ProbabilitiesThatAreNoNumbersEndOneSearchOnly) {
  const TransducerConfig config = SmallTransducer("lstm1", 5);
  const auto transducer = RandomTransducer(config, TransducerBackend::kCpuFloat32, 4);
  Matrix bad = transducer->ProjectEncoder(RandomEncoderRows(10, 8).rows());
  const Matrix good(std::as_const(bad).rows());
  bad.rows().float32(4)[0] = std::numeric_limits<float>::quiet_NaN();
  for (const SearchOptions& options : AllSearches()) {
    const auto failing = MakeTransducerSearch(options, *transducer);
    const auto search = MakeTransducerSearch(options, *transducer);
    std::vector<TransducerSegment> segments(2);
    segments[0].search = failing.get();
    segments[0].encoder = std::as_const(bad).rows();
    segments[1].search = search.get();
    segments[1].encoder = good.rows();
    for (TransducerSegment& segment : segments) segment.after_frame = [] {};
    SearchTransducer(*transducer, &segments);
    EXPECT_NE(segments[0].error, "");
    EXPECT_EQ(segments[1].error, "");
    search->Finish();
    ExpectSame(search->NBest(4), SearchAll(*transducer, good, options, 4));
  }
}

TEST(TransducerSearchTest, WrongOptionsAreNamed) {
  const auto transducer =
      RandomTransducer(SmallTransducer("lstm1", 5), TransducerBackend::kCpuFloat32, 4);
  SearchOptions options;
  options.max_symbols = -1;
  EXPECT_EQ(
      ErrorMessage<std::invalid_argument>([&] { MakeTransducerSearch(options, *transducer); }),
      "search.max_symbols must be 0 to 1000, got -1");
}

}  // namespace
}  // namespace runnel
