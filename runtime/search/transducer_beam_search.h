// What the beam searches of a transducer share: hypotheses, their tokens, ranking, snapshots.
#ifndef RUNNEL_RUNTIME_SEARCH_TRANSDUCER_BEAM_SEARCH_H_
#define RUNNEL_RUNTIME_SEARCH_TRANSDUCER_BEAM_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/scoring/prefix_scorer.h"
#include "runtime/search/token_tree.h"
#include "runtime/search/transducer_search.h"

namespace runnel {

// Hypotheses are ranked by the sum of their log probability and their bonus (PrefixScorer). The
// tokens of all hypotheses form one tree, so that the cost of a frame does not depend on the length
// of the utterance, and memory holds common beginnings once. Of two alignments of equal tokens the
// more probable one gives the times, confidences and bonus; the probabilities are added.
//
// Hotwords raise the probability of a token to 1 at most: their bonus for it is at most its
// negative log probability. Once a word has begun, the predictor writes the rest of it almost
// without loss, and several tokens fit into a frame. A bonus for these tokens would be larger than
// what the word costs, and the search would write hotwords where nothing was said.
class TransducerBeamSearch : public TransducerSearch {
 public:
  void TakeStates(const SharedPredictorState* states) final;
  float blank_log_prob() const override { return state_.blank_log_prob; }

  void Finish() override;
  void StartUtterance(int64_t first_frame) override;
  void ContinueAfter(const std::vector<TokenSpan>& tokens) override;
  void ReturnTo(const std::vector<TokenSpan>& tokens, int64_t begin_frame) override;
  void Reset() override { StartUtterance(0); }
  std::vector<TokenSpan> BestTokensSince(size_t first) const override;
  const std::vector<int32_t>& BestIds() const override { return state_.emissions.best_ids(); }
  size_t NumStableIds() const override { return state_.emissions.num_stable(); }
  int64_t num_frames() const override { return state_.num_frames; }
  void Save(StateWriter* writer) const override;
  void Restore(StateReader* reader) override;

 protected:
  static constexpr int32_t kNone = CountedTree<int32_t>::kNone;
  static constexpr int32_t kRoot = CountedTree<int32_t>::kRoot;

  // A token of a hypothesis, at the end of the path from the root.
  struct EmittedToken {
    int32_t token = 0;
    Emission emission;
    // These two of the tokens from the root to here (AddEmission).
    int32_t length = 0;
    uint64_t hash = 0;
  };

  struct Hypothesis {
    int32_t node = kRoot;  // in `emissions`, which holds a reference
    double log_prob = 0;
    PrefixScorer::State scorer;
    int64_t next_frame = 0;  // that it reads
    SharedPredictorState predictor;
    bool is_behind = false;  // `predictor` has not read the last token

    double score() const { return log_prob + scorer.bonus; }
    double firm_score() const { return score() - scorer.potential; }
  };

  // A hypothesis that may be kept: `*source` as it is, or with a token more.
  struct Candidate {
    const Hypothesis* source = nullptr;
    int32_t token = kNone;   // appended, or kNone
    int64_t next_frame = 0;  // that it reads
    double log_prob = 0;
    float token_log_prob = 0;
    double bonus = 0;  // after the token
    double potential = 0;

    double score() const { return log_prob + bonus; }
    double firm_score() const { return score() - potential; }
  };

  // length_offset: hypotheses are ranked by their score, or, from 0 on, by their score divided by
  // their length plus this.
  TransducerBeamSearch(const SearchOptions& options, const Transducer& transducer,
                       int length_offset);

  const Transducer& transducer() const { return *transducer_; }
  size_t beam_size() const { return beam_size_; }
  const std::vector<Hypothesis>& beam() const { return state_.beam; }
  int64_t current_frame() const { return state_.num_frames; }
  // Of the current frame.
  int64_t num_earlier_tokens() const { return state_.earlier.CountIn(state_.num_frames); }
  void set_blank_log_prob(float log_prob) { state_.blank_log_prob = log_prob; }

  // The tokens of a frame, without the blank, that a hypothesis may be extended by: the most
  // probable ones, as many as decide the beam.
  const std::vector<int32_t>& LikelyTokens(const float* log_probs);

  // A candidate of `source` and its score.
  Candidate MakeCandidate(const Hypothesis& source, int32_t token, int64_t next_frame,
                          double log_prob, float token_log_prob) const;

  // Keeps the beam_size best, best first; of equally good ones the first. With hotwords, the
  // firmest (firm_scores.h) are kept beside them.
  void KeepBest(std::vector<Candidate>* candidates);
  // The same; releases the others.
  void KeepBest(std::vector<Hypothesis>* hypotheses);

  // The hypothesis of a candidate, with a reference to its node. With a new token it is behind.
  Hypothesis Make(const Candidate& candidate);
  void Release(const Hypothesis& hypothesis) { state_.emissions.Release(hypothesis.node); }

  // Adds a hypothesis to a list in which no two have equal tokens. Takes its reference.
  void Merge(Hypothesis hypothesis, std::vector<Hypothesis>* list);

  // Asks for the states of those hypotheses that are behind. Continue gets them back.
  void Request(std::vector<Hypothesis> hypotheses);

  // What follows Request; no hypothesis is behind now.
  virtual void Continue(std::vector<Hypothesis> hypotheses) = 0;

  // Ends the frame with these hypotheses, ranks them and takes their references. Those of the frame
  // before are released.
  void EndFrame(std::vector<Hypothesis> beam);

 private:
  // The whole state of the search between frames.
  struct State {
    int64_t num_frames = 0;
    bool is_finished = false;  // the bonuses are those of whole utterances
    float blank_log_prob = 0;
    EarlierTokens earlier;
    std::vector<Hypothesis> beam;  // best first
    TokenTree<EmittedToken> emissions;
  };

  // The part of State that is saved; the rest is computed from it (transducer_beam_state.cc).
  struct Saved;
  template <class Self, class Fields>
  static void VisitSaved(const Transducer& transducer, Self& saved, Fields& fields);
  std::string Inconsistency(const Saved& saved) const;
  void Rebuild(const Saved& saved);

  // Appends a token of this log probability.
  void ExtendScorer(PrefixScorer::State* state, int32_t token, float log_prob) const;
  // Puts what is kept first, best first; returns its end.
  template <typename Item>
  typename std::vector<Item>::iterator SortKept(std::vector<Item>* items);
  // Adds a node below `parent`, with one reference.
  int32_t AddEmission(int32_t parent, int32_t token, const Emission& emission);
  State InitialState(int64_t first_frame) const;
  // Begins an utterance with this hypothesis' predictor, which reads `next_frame` next.
  void GoOnFrom(const Hypothesis& hypothesis, int64_t first_frame, int64_t next_frame,
                const EarlierTokens& earlier);
  double RankScore(const Hypothesis& hypothesis) const;
  bool HaveEqualTokens(int32_t a, int32_t b) const;
  void RankBeam();
  size_t num_sequences() const override { return state_.beam.size(); }
  TokenSequence SequenceAt(size_t rank) const override;
  std::vector<TokenSpan> TokensSince(const Hypothesis& hypothesis, size_t first) const;

  const Transducer* transducer_;
  size_t beam_size_;
  size_t token_beam_;
  int length_offset_;  // -1: scores are not divided
  PrefixScorer scorer_;
  size_t num_firmest_;
  State state_;
  std::vector<int32_t> tokens_;        // LikelyTokens
  std::vector<double> firm_scores_;    // SortKept
  std::vector<Hypothesis> requested_;  // Request
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_TRANSDUCER_BEAM_SEARCH_H_
