// CTC prefix beam search: the most probable token sequences, summed over their alignments.
// Sources: Graves and Jaitly 2014, "Towards end-to-end speech recognition with recurrent neural
// networks", section 4; Hannun et al. 2014, "First-pass large vocabulary continuous speech
// recognition using bi-directional recurrent DNNs", algorithm 1 (without a language model). Token
// times as in WeNet: those of the best single alignment within a sequence.
#ifndef RUNNEL_RUNTIME_SEARCH_PREFIX_BEAM_SEARCH_H_
#define RUNNEL_RUNTIME_SEARCH_PREFIX_BEAM_SEARCH_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "runtime/scoring/prefix_scorer.h"
#include "runtime/search/counted_tree.h"
#include "runtime/search/ctc_search.h"
#include "runtime/search/token_tree.h"
#include "runtime/text/word_tree.h"
#include "runtime/word_list.h"

namespace runnel {

// A *prefix* is a token sequence that the frames so far may spell. Prefixes are nodes of one tree
// in which siblings differ, so that equal prefixes are one node and always merged. With beam_size
// and token_beam large enough nothing is pruned, and the scores are the exact log probabilities.
// Equally probable prefixes keep the order of the frame before: a prefix comes before its
// extensions, and these are in the order of token ids.
//
// With hotwords or a language model, prefixes are ranked by the sum of their log probability and
// their bonus (PrefixScorer). The bonus belongs to the prefix, not to an alignment, and is added
// once. With hotwords, the firmest prefixes (firm_scores.h) are kept beside the beam_size best.
//
// The empty prefix may *go on* with the last token of the utterance before: it then begins as if it
// ended in that token, which is not of the prefix.
//
// A token's frames are those of the prefix's most probable alignment. Its confidence is the highest
// probability over these frames.
//
// With a word list, a prefix is extended only by tokens that may follow it there: by all of them,
// or by the token_beam most probable ones. A blank and a repetition of the last token are always
// possible. The most probable complete prefix of a frame is kept even when beam_size others are
// more probable, so that there is a result whenever the audio ends.
//
// Cost of a frame: O(vocab_size + beam_size * token_beam), independent of the prefixes' lengths;
// with a word list O(beam_size * tokens that may follow a prefix). Memory: the tokens of the kept
// prefixes, common beginnings stored once; usually little more than the tokens of the best prefix.
// Two nearly equal prefixes of one moment, however, stay in the beam until later frames decide
// between them, and what follows is stored for each.
class CtcPrefixBeamSearch : public CtcSearch {
 public:
  // Ignores options.method. Throws std::invalid_argument when an option is out of range, when
  // blank_id is not an id below vocab_size, or when the word list is of a model with another
  // vocab_size or blank_id.
  CtcPrefixBeamSearch(const SearchOptions& options, int vocab_size, int blank_id);

  // Throws std::invalid_argument, and changes nothing, as MostProbableIds does, and with a word
  // list when the blank, the only token that may follow any prefix, has probability zero.
  void Advance(const float* log_probs, int64_t num_frames) override;
  void Finish() override;
  void StartUtterance(int64_t first_frame) override;
  void StartUtteranceAfter(int32_t token_before, int64_t first_frame) override;
  void ContinueAfter(const std::vector<TokenSpan>& tokens) override;
  int32_t TokenOfLastFrame() const override;
  std::vector<TokenSpan> BestTokensSince(size_t first) const override;
  const std::vector<int32_t>& BestIds() const override { return state_.prefixes.best_ids(); }
  size_t NumStableIds() const override { return state_.prefixes.num_stable(); }
  int64_t num_frames() const override { return state_.num_frames; }
  void Save(StateWriter* writer) const override;  // these two in prefix_beam_state.cc
  void Restore(StateReader* reader) override;
  std::unique_ptr<CtcSearch> Clone() const override;
  void Reset() override;

  // Tree nodes that have memory, in use or not.
  size_t num_stored_nodes() const;

 private:
  static constexpr double kImpossible = -std::numeric_limits<double>::infinity();
  static constexpr int32_t kNone = CountedTree<int32_t>::kNone;
  static constexpr int32_t kRoot = CountedTree<int32_t>::kRoot;  // the empty prefix; no emission

  struct PrefixNode {
    int32_t token = 0;
    int32_t length = 0;    // tokens from the root to here
    int32_t rank = kNone;  // index in the beam, or kNone
  };

  // The most probable alignment of a prefix among those that end in a certain way.
  struct Alignment {
    double score = kImpossible;  // log probability
    int32_t stem = kRoot;        // in `emissions`: of all tokens but the last
    Emission last;               // of the last token; not used for the empty prefix
  };

  struct Prefix {
    int32_t node = kRoot;
    int32_t last_token = kNone;  // of the empty prefix: State::token_before
    WordTree::Nodes word_nodes;  // empty without a word list
    PrefixScorer::State scorer;
    // Log probabilities of the alignments that end in a blank, in the last token, in either.
    double blank = kImpossible;
    double non_blank = kImpossible;
    double total = kImpossible;
    double score() const { return total + scorer.bonus; }
    Alignment best_blank;
    Alignment best_non_blank;
  };

  // The whole state of the search; a copy is a fork.
  struct State {
    State(const WordTree* words, const PrefixScorer& scorer, int32_t going_on = kNone);
    int32_t token_before;  // that the utterance goes on with, or kNone
    int64_t num_frames = 0;
    bool is_finished = false;  // the bonuses are those of whole utterances
    std::vector<Prefix> beam;  // best first; holds references to its nodes and stems
    TokenTree<PrefixNode> prefixes;
    CountedTree<Emission> emissions;
  };

  // A prefix that may be in the next beam: beam[source] as it is, or with one token more.
  struct Candidate {
    size_t source = 0;
    int32_t token = kNone;  // appended, or kNone
    double blank = kImpossible;
    double non_blank = kImpossible;
    double total = kImpossible;
    double score = kImpossible;  // total and bonus
    double potential = 0;        // of an unfinished hotword; a part of `score`
    // The best alignment that ends in the prefix's last token: its score, and the prefix in the
    // beam that it appends the token to, or kNone when it repeats the token of beam[source].
    double non_blank_score = kImpossible;
    int32_t non_blank_source = kNone;
    double firm_score() const { return score - potential; }
  };

  // A candidate that is below both cannot be in the next beam.
  struct LeastScores {
    double score = -kImpossible;
    double firm_score = -kImpossible;
  };

  // Buffers of AdvanceFrame, kept to avoid allocations. Between frames is_picked and is_merged are
  // all 0, and the others have no meaning.
  struct Scratch {
    std::vector<int32_t> tokens;  // the most probable ones of the frame, or after one prefix
    std::vector<char> is_picked;  // by token id: whether it is in `tokens`; not with a word list
    std::vector<char> is_merged;  // by token id: the extension is itself a prefix in the beam
    std::vector<Candidate> candidates;
    std::vector<double> scores;  // of candidates
    std::vector<Prefix> next_beam;
    std::vector<int32_t> extended_stems;  // (beam, 2): StemAfter's results
  };

  // The part of State that is saved; the rest is computed from it (prefix_beam_state.cc).
  struct Saved;
  template <class Self, class Fields>
  static void VisitSaved(Self& saved, Fields& fields);
  // What is wrong with a restored state; "" if nothing is.
  std::string Inconsistency(const Saved& saved) const;
  void Rebuild(const Saved& saved);

  // The steps of a frame.
  void AdvanceFrame(const float* log_probs);
  void PickTokens(const float* log_probs);
  void PickTokensAfter(const Prefix& prefix, const float* log_probs);
  void AddUnextended(const float* log_probs);
  void AddExtended(const float* log_probs);
  LeastScores LeastUsefulScores();
  static void SetScores(const PrefixScorer::State& scorer, Candidate* candidate);
  void SetScoresAfter(const Prefix& prefix, Candidate* candidate) const;
  void MarkLongerPrefixes(const Prefix& prefix, bool is_merged);
  void KeepBestCandidates();
  void ReplaceBeam(const float* log_probs);

  Prefix MakePrefix(const Candidate& candidate, const float* log_probs);
  int32_t FindOrAddNode(int32_t parent, int32_t token);
  int32_t StemAfter(size_t rank, const Alignment& alignment);
  void ReleasePrefix(const Prefix& prefix);
  void DropIncomplete();
  void RankBeam();
  bool IsComplete(const Candidate& candidate) const;
  size_t num_sequences() const override { return state_.beam.size(); }
  TokenSequence SequenceAt(size_t rank) const override;
  std::vector<TokenSpan> TokensSince(const Prefix& prefix, size_t first) const;

  static const Alignment& BestAlignment(const Prefix& prefix);
  // The token that the best alignment of `prefix` emits in the last frame; kNone for the blank.
  static int32_t TokenOfLastFrame(const Prefix& prefix);
  // Log probability of the alignments of `prefix` after which `token` is a new token, and the best
  // of them. After the prefix's own last token, only alignments that end in a blank count.
  static double TotalBefore(const Prefix& prefix, int32_t token);
  static const Alignment& BestBefore(const Prefix& prefix, int32_t token);

  int vocab_size_;
  int32_t blank_id_;
  size_t beam_size_;
  size_t num_firmest_;
  size_t token_beam_;      // at most vocab_size
  const WordTree* words_;  // owned by word_list_; null: any tokens
  std::shared_ptr<const WordList> word_list_;
  PrefixScorer scorer_;
  State state_;
  Scratch scratch_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_SEARCH_PREFIX_BEAM_SEARCH_H_
