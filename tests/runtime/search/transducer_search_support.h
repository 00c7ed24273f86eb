// Transducers frame by frame, and exact answers for short inputs by sums over all alignments.
#ifndef RUNNEL_TESTS_RUNTIME_SEARCH_TRANSDUCER_SEARCH_SUPPORT_H_
#define RUNNEL_TESTS_RUNTIME_SEARCH_TRANSDUCER_SEARCH_SUPPORT_H_

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

#include "runtime/search/log_probs.h"
#include "runtime/search/transducer_search.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/stream/transducer_decoding.h"
#include "runtime/transducer/transducer.h"
#include "tests/runtime/search/search_test_support.h"

namespace runnel {

using TokenIds = std::vector<int32_t>;

// The log probabilities of one label after `ids`, at one frame: (num_outputs). With Fuse, those of
// the labels are mixed with another head's.
class Oracle {
 public:
  Oracle(const Transducer& transducer, const Matrix& rows)
      : transducer_(transducer), projected_(transducer.ProjectEncoder(rows.rows())) {
    states_[{}] = transducer.Start();
  }

  // ctc_log_probs: (frames, vocab_size). weight: their part of a probability.
  void Fuse(std::vector<float> ctc_log_probs, double weight) {
    ctc_log_probs_ = std::move(ctc_log_probs);
    ctc_weight_ = weight;
  }

  const std::vector<float>& LogProbs(int64_t frame, const TokenIds& ids) {
    std::vector<float>& known = log_probs_[{frame, ids}];
    if (known.empty()) {
      const Matrix found = ToFloat32(transducer_.LogProbs(
          {{std::as_const(projected_).rows().Part(frame, 1), State(ids).get()}}));
      known.assign(found.rows().float32(), found.rows().float32() + found.dim());
      if (!ctc_log_probs_.empty()) MixWithCtc(frame, &known);
    }
    return known;
  }

  int64_t num_frames() const { return projected_.count(); }
  const Matrix& projected() const { return projected_; }

 private:
  const SharedPredictorState& State(const TokenIds& ids) {
    SharedPredictorState& known = states_[ids];
    if (known == nullptr) {
      const TokenIds before(ids.begin(), ids.end() - 1);
      known = transducer_.Advance({{State(before).get(), ids.back()}}).front();
    }
    return states_[ids];
  }

  void MixWithCtc(int64_t frame, std::vector<float>* log_probs) const {
    const auto size = static_cast<size_t>(transducer_.config().vocab_size);
    const float* ctc = ctc_log_probs_.data() + static_cast<size_t>(frame) * size;
    for (size_t i = 0; i < size; ++i) {
      (*log_probs)[i] = std::log((1 - static_cast<float>(ctc_weight_)) * std::exp((*log_probs)[i]) +
                                 static_cast<float>(ctc_weight_) * std::exp(ctc[i]));
    }
  }

  const Transducer& transducer_;
  const Matrix projected_;
  std::vector<float> ctc_log_probs_;  // empty: none
  double ctc_weight_ = 0;
  std::map<TokenIds, SharedPredictorState> states_;
  std::map<std::pair<int64_t, TokenIds>, std::vector<float>> log_probs_;
};

// Greedy search and the beam searches of a model, small.
inline std::vector<SearchOptions> AllSearches(const TransducerConfig& config) {
  SearchOptions greedy;
  SearchOptions beam;
  beam.method = SearchMethod::kPrefixBeam;
  beam.beam_size = 4;
  if (!config.durations.empty()) return {greedy, beam};
  SearchOptions modified = beam;
  modified.method = SearchMethod::kModifiedBeam;
  return {greedy, beam, modified};
}

// Gives rows to searches in pieces of random sizes, several searches at a time.
inline void Advance(const Transducer& transducer, const std::vector<TransducerSearch*>& searches,
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

inline std::vector<TokenSequence> SearchAll(const Transducer& transducer, const Matrix& projected,
                                            const SearchOptions& options, int n) {
  const auto search = MakeTransducerSearch(options, transducer);
  std::mt19937_64 random(1);
  Advance(transducer, {search.get()}, {&projected}, &random, projected.count());
  EXPECT_EQ(search->num_frames(), projected.count());
  search->Finish();
  return search->NBest(n);
}

// Log probability of every token sequence: the sum over its alignments, with at most `max_symbols`
// tokens that begin in a frame. One label per frame if `one_label`.
inline std::map<TokenIds, double> SumOverAlignments(const TransducerConfig& config, Oracle* oracle,
                                                    int max_symbols, bool one_label) {
  // By frame to read next, tokens of that frame so far, and sequence.
  std::map<std::pair<int64_t, int>, std::map<TokenIds, double>> open;
  open[{0, 0}][{}] = 0;
  std::map<TokenIds, double> done;
  const auto add = [](std::map<TokenIds, double>* to, const TokenIds& ids, double score) {
    const auto [place, is_new] = to->emplace(ids, score);
    if (!is_new) place->second = LogAdd(place->second, score);
  };
  while (!open.empty()) {
    const int64_t frame = open.begin()->first.first;
    const int symbols = open.begin()->first.second;
    const std::map<TokenIds, double> sequences = open.begin()->second;
    open.erase(open.begin());
    for (const auto& [ids, score] : sequences) {
      if (frame >= oracle->num_frames()) {
        add(&done, ids, score);
        continue;
      }
      const std::vector<float>& row = oracle->LogProbs(frame, ids);
      for (int32_t label = 0; label < config.vocab_size; ++label) {
        const bool is_blank = label == config.blank_id;
        if (!is_blank && !one_label && symbols == max_symbols) continue;
        TokenIds next = ids;
        if (!is_blank) next.push_back(label);
        const double after = score + static_cast<double>(row[static_cast<size_t>(label)]);
        const auto go_on = [&](int64_t duration, double sum) {
          if (is_blank || one_label) duration = std::max<int64_t>(1, duration);
          if (duration > 0) {
            add(&open[{frame + duration, 0}], next, sum);
          } else {
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

// The sequences of a beam that holds everything have the sums over all alignments.
inline void ExpectSums(const std::vector<TokenSequence>& found,
                       const std::map<TokenIds, double>& expected) {
  std::map<TokenIds, double> sums;  // with TDT a sequence may wait for several frames
  for (const TokenSequence& sequence : found) {
    const auto [place, is_new] = sums.emplace(Ids(sequence), sequence.score);
    if (!is_new) place->second = LogAdd(place->second, sequence.score);
  }
  EXPECT_EQ(sums.size(), expected.size());
  for (const auto& [ids, score] : expected) {
    ASSERT_EQ(sums.count(ids), 1U);
    EXPECT_NEAR(sums[ids], score, 1e-5);
  }
}

inline std::string Saved(const TransducerSearch& search) {
  StateWriter writer;
  search.Save(&writer);
  return writer.Take();
}

// What the search that wrote `saved` would go on with.
inline std::unique_ptr<TransducerSearch> Restored(const std::string& saved,
                                                  const SearchOptions& options,
                                                  const Transducer& transducer) {
  auto search = MakeTransducerSearch(options, transducer);
  StateReader reader(saved);
  search->Restore(&reader);
  EXPECT_TRUE(reader.at_end());
  return search;
}

}  // namespace runnel

#endif  // RUNNEL_TESTS_RUNTIME_SEARCH_TRANSDUCER_SEARCH_SUPPORT_H_
