#include "runtime/search/prefix_beam_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/search/firm_scores.h"
#include "runtime/search/log_probs.h"
#include "runtime/text/vocabulary.h"

namespace runnel {

CtcPrefixBeamSearch::State::State(const WordTree* words, const PrefixScorer& scorer,
                                  int32_t going_on)
    : token_before(going_on), beam(1) {
  Prefix& empty = beam.front();
  empty.scorer = scorer.Start();
  if (words != nullptr) empty.word_nodes = WordTree::Start();
  const bool goes_on = token_before != kNone;
  empty.last_token = token_before;
  empty.total = 0;
  (goes_on ? empty.non_blank : empty.blank) = 0;
  (goes_on ? empty.best_non_blank : empty.best_blank).score = 0;
  prefixes.value(kRoot).rank = 0;
  prefixes.Acquire(kRoot);   // by the beam
  emissions.Acquire(kRoot);  // by best_blank
  emissions.Acquire(kRoot);  // by best_non_blank
}

CtcPrefixBeamSearch::CtcPrefixBeamSearch(const SearchOptions& options, int vocab_size, int blank_id)
    : vocab_size_(vocab_size),
      blank_id_(blank_id),
      words_(options.word_list == nullptr ? nullptr : &options.word_list->tree()),
      word_list_(options.word_list),
      scorer_(options, vocab_size, blank_id),
      state_(words_, scorer_) {
  options.Validate();
  CheckVocabulary(vocab_size, blank_id);
  if (word_list_ != nullptr) {
    CheckSameVocabulary("search.word_list", word_list_->vocab_size(), word_list_->blank_id(),
                        vocab_size, blank_id);
  }
  beam_size_ = static_cast<size_t>(options.beam_size);
  num_firmest_ = NumFirmest(beam_size_, scorer_);
  token_beam_ = static_cast<size_t>(std::min(options.token_beam, vocab_size));
  scratch_.is_picked.assign(static_cast<size_t>(vocab_size), 0);
  scratch_.is_merged.assign(static_cast<size_t>(vocab_size), 0);
}

void CtcPrefixBeamSearch::Advance(const float* log_probs, int64_t num_frames) {
  MostProbableIds(log_probs, num_frames, vocab_size_,
                  state_.num_frames);  // throws if there is none
  for (int64_t t = 0; words_ != nullptr && t < num_frames; ++t) {
    if (!std::isinf(log_probs[t * vocab_size_ + blank_id_])) continue;
    throw std::invalid_argument("encoder frame " + std::to_string(state_.num_frames + t) +
                                ": the blank has probability zero, which a search with a word "
                                "list cannot pass");
  }
  for (int64_t t = 0; t < num_frames; ++t) AdvanceFrame(log_probs + t * vocab_size_);
  state_.prefixes.Follow(state_.beam);
}

void CtcPrefixBeamSearch::Finish() {
  if (state_.is_finished) return;
  state_.is_finished = true;
  if (words_ != nullptr) DropIncomplete();
  std::vector<Prefix>& beam = state_.beam;
  for (Prefix& prefix : beam) scorer_.End(&prefix.scorer);
  std::stable_sort(beam.begin(), beam.end(),
                   [](const Prefix& a, const Prefix& b) { return a.score() > b.score(); });
  RankBeam();
  state_.prefixes.Follow(state_.beam);
}

void CtcPrefixBeamSearch::DropIncomplete() {
  std::vector<Prefix>& beam = state_.beam;
  const auto begin = std::stable_partition(beam.begin(), beam.end(), [](const Prefix& prefix) {
    return WordTree::IsComplete(prefix.word_nodes);
  });
  std::for_each(begin, beam.end(), [this](const Prefix& prefix) { ReleasePrefix(prefix); });
  beam.erase(begin, beam.end());
}

void CtcPrefixBeamSearch::AdvanceFrame(const float* log_probs) {
  if (words_ == nullptr) PickTokens(log_probs);
  scratch_.candidates.clear();
  AddUnextended(log_probs);
  AddExtended(log_probs);
  KeepBestCandidates();
  ReplaceBeam(log_probs);
  if (words_ == nullptr) {
    for (const int32_t token : scratch_.tokens) scratch_.is_picked[static_cast<size_t>(token)] = 0;
  }
  ++state_.num_frames;
}

void CtcPrefixBeamSearch::ReplaceBeam(const float* log_probs) {
  std::vector<Prefix>& next_beam = scratch_.next_beam;
  scratch_.extended_stems.assign(2 * state_.beam.size(), kNone);
  next_beam.clear();
  for (const Candidate& candidate : scratch_.candidates) {
    next_beam.push_back(MakePrefix(candidate, log_probs));
  }
  // Only now, so that nothing is thrown away that the next beam needs.
  for (const Prefix& prefix : state_.beam) ReleasePrefix(prefix);
  for (const int32_t stem : scratch_.extended_stems) {
    if (stem != kNone) state_.emissions.Release(stem);
  }
  state_.beam.swap(next_beam);
  RankBeam();
}

void CtcPrefixBeamSearch::ReleasePrefix(const Prefix& prefix) {
  state_.prefixes.value(prefix.node).rank = kNone;
  state_.prefixes.Release(prefix.node);
  state_.emissions.Release(prefix.best_blank.stem);
  state_.emissions.Release(prefix.best_non_blank.stem);
}

void CtcPrefixBeamSearch::RankBeam() {
  for (size_t i = 0; i < state_.beam.size(); ++i) {
    state_.prefixes.value(state_.beam[i].node).rank = static_cast<int32_t>(i);
  }
}

// Acquires what the prefix refers to.
CtcPrefixBeamSearch::Prefix CtcPrefixBeamSearch::MakePrefix(const Candidate& candidate,
                                                            const float* log_probs) {
  Prefix prefix = state_.beam[candidate.source];
  const bool is_extended = candidate.token != kNone;
  if (is_extended) {
    prefix.node = FindOrAddNode(prefix.node, candidate.token);
    prefix.last_token = candidate.token;
    if (words_ != nullptr) prefix.word_nodes = words_->Next(prefix.word_nodes, candidate.token);
    scorer_.Extend(&prefix.scorer, candidate.token);
  } else {
    state_.prefixes.Acquire(prefix.node);
  }
  prefix.blank = candidate.blank;
  prefix.non_blank = candidate.non_blank;
  prefix.total = candidate.total;

  // An impossible alignment is left at its default, so that it holds no stem.
  prefix.best_blank = Alignment();
  if (candidate.blank > kImpossible) {
    prefix.best_blank = BestAlignment(state_.beam[candidate.source]);
    prefix.best_blank.score += log_probs[blank_id_];
  }
  if (candidate.non_blank_score == kImpossible) {
    prefix.best_non_blank = Alignment();
  } else if (candidate.non_blank_source == kNone) {
    Emission& last = prefix.best_non_blank.last;
    last.last_frame = state_.num_frames;
    last.log_prob = std::max(last.log_prob, log_probs[prefix.last_token]);
  } else {
    const auto rank = static_cast<size_t>(candidate.non_blank_source);
    prefix.best_non_blank.stem = StemAfter(rank, BestBefore(state_.beam[rank], prefix.last_token));
    prefix.best_non_blank.last = {state_.num_frames, state_.num_frames,
                                  log_probs[prefix.last_token]};
  }
  prefix.best_non_blank.score = candidate.non_blank_score;
  state_.emissions.Acquire(prefix.best_blank.stem);
  state_.emissions.Acquire(prefix.best_non_blank.stem);
  return prefix;
}

// The node of a prefix may live without being in the beam, for the sake of longer ones.
int32_t CtcPrefixBeamSearch::FindOrAddNode(int32_t parent, int32_t token) {
  const int32_t node = state_.prefixes.FindChild(
      parent, [token](const PrefixNode& child) { return child.token == token; });
  if (node == kNone) return state_.prefixes.Add(parent, {token});
  state_.prefixes.Acquire(node);
  return node;
}

// The stem of an alignment to which a token is appended: all emissions of `alignment`, which is one
// of beam[rank]. Made once per frame; scratch_ holds the reference.
int32_t CtcPrefixBeamSearch::StemAfter(size_t rank, const Alignment& alignment) {
  const Prefix& prefix = state_.beam[rank];
  if (prefix.node == kRoot) return kRoot;
  int32_t& stem = scratch_.extended_stems[2 * rank + (&alignment == &prefix.best_blank ? 0 : 1)];
  if (stem == kNone) stem = state_.emissions.Add(alignment.stem, alignment.last);
  return stem;
}

TokenSequence CtcPrefixBeamSearch::SequenceAt(size_t rank) const {
  const Prefix& prefix = state_.beam[rank];
  return {TokensSince(prefix, 0), prefix.score()};
}

std::vector<TokenSpan> CtcPrefixBeamSearch::BestTokensSince(size_t first) const {
  return TokensSince(state_.beam.front(), first);
}

std::vector<TokenSpan> CtcPrefixBeamSearch::TokensSince(const Prefix& prefix, size_t first) const {
  const size_t length = state_.prefixes.Length(prefix.node);
  std::vector<TokenSpan> tokens(length - std::min(first, length));
  const Alignment& alignment = BestAlignment(prefix);
  Emission emission = alignment.last;
  int32_t stem = alignment.stem;
  int32_t node = prefix.node;
  for (size_t i = tokens.size(); i > 0; --i) {
    tokens[i - 1] = emission.SpanOf(state_.prefixes.value(node).token);
    node = state_.prefixes.parent(node);
    emission = state_.emissions.value(stem);
    if (i > 1) stem = state_.emissions.parent(stem);
  }
  return tokens;
}

std::unique_ptr<CtcSearch> CtcPrefixBeamSearch::Clone() const {
  return std::make_unique<CtcPrefixBeamSearch>(*this);
}

void CtcPrefixBeamSearch::StartUtterance(int64_t first_frame) {
  StartUtteranceAfter(first_frame == state_.num_frames ? TokenOfLastFrame() : kNone, first_frame);
}

void CtcPrefixBeamSearch::StartUtteranceAfter(int32_t token_before, int64_t first_frame) {
  state_ = State(words_, scorer_, token_before);
  state_.num_frames = first_frame;
}

void CtcPrefixBeamSearch::ContinueAfter(const std::vector<TokenSpan>& tokens) {
  StartUtteranceAfter(TokenOfLastFrame(state_.prefixes.FindOrBest(state_.beam, tokens)),
                      state_.num_frames);
}

void CtcPrefixBeamSearch::Reset() { state_ = State(words_, scorer_); }

int32_t CtcPrefixBeamSearch::TokenOfLastFrame() const {
  return TokenOfLastFrame(state_.beam.front());
}

int32_t CtcPrefixBeamSearch::TokenOfLastFrame(const Prefix& prefix) {
  return &BestAlignment(prefix) == &prefix.best_non_blank ? prefix.last_token : kNone;
}

size_t CtcPrefixBeamSearch::num_stored_nodes() const {
  return state_.prefixes.num_slots() + state_.emissions.num_slots();
}

const CtcPrefixBeamSearch::Alignment& CtcPrefixBeamSearch::BestAlignment(const Prefix& prefix) {
  return prefix.best_blank.score > prefix.best_non_blank.score ? prefix.best_blank
                                                               : prefix.best_non_blank;
}

}  // namespace runnel
