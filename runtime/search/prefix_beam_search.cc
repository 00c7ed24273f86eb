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
  prefixes.Acquire(kRoot);   // by the best path
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
  UpdateBestPath();
  UpdateNumStable();
}

void CtcPrefixBeamSearch::Finish() {
  if (state_.is_finished) return;
  state_.is_finished = true;
  if (words_ != nullptr) DropIncomplete();
  if (scorer_.scores()) AddEndBonuses();
  RankBeam();
  UpdateBestPath();
  UpdateNumStable();
}

void CtcPrefixBeamSearch::AddEndBonuses() {
  std::vector<Prefix>& beam = state_.beam;
  for (Prefix& prefix : beam) {
    scorer_.End(&prefix.scorer);
    prefix.bonus = scorer_.Bonus(prefix.scorer);
  }
  std::stable_sort(beam.begin(), beam.end(),
                   [](const Prefix& a, const Prefix& b) { return a.score() > b.score(); });
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
    if (scorer_.scores()) {
      scorer_.Extend(&prefix.scorer, candidate.token);
      prefix.bonus = scorer_.Bonus(prefix.scorer);
    }
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
  if (node == kNone) {
    const int32_t length = state_.prefixes.value(parent).length + 1;
    return state_.prefixes.Add(parent, {token, length, kNone});
  }
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

void CtcPrefixBeamSearch::UpdateBestPath() {
  std::vector<int32_t>& ids = state_.best_ids;
  std::vector<int32_t>& nodes = state_.best_nodes;
  const int32_t old_end = nodes.empty() ? kRoot : nodes.back();
  const int32_t new_end = state_.beam.front().node;
  if (new_end == old_end) return;
  // Down to where the paths part. The old path is held, so equal indices are the same node.
  const auto length_of = [this](int32_t node) {
    return static_cast<size_t>(state_.prefixes.value(node).length);
  };
  const size_t new_length = length_of(new_end);
  size_t common = new_length;
  for (int32_t node = new_end; common > 0; node = state_.prefixes.parent(node), --common) {
    if (common <= nodes.size() && nodes[common - 1] == node) break;
  }
  ids.resize(new_length);
  nodes.resize(new_length);
  int32_t node = new_end;
  for (size_t i = new_length; i > common; --i) {
    nodes[i - 1] = node;
    ids[i - 1] = state_.prefixes.value(node).token;
    node = state_.prefixes.parent(node);
  }
  state_.prefixes.Acquire(new_end);
  state_.prefixes.Release(old_end);
}

// All living nodes lead to prefixes in the beam, so what all of these begin with ends where the
// tree parts first. What follows is only ever cut off further down, so that place never moves up.
void CtcPrefixBeamSearch::UpdateNumStable() {
  size_t& num_stable = state_.num_stable;
  int32_t node = num_stable == 0 ? kRoot : state_.best_nodes[num_stable - 1];
  while (state_.prefixes.value(node).rank == kNone) {
    node = state_.prefixes.OnlyChild(node);
    if (node == kNone) return;
    ++num_stable;
  }
}

std::vector<TokenSequence> CtcPrefixBeamSearch::NBest(int n) const {
  if (n < 1) {
    throw std::invalid_argument("NBest: n must be at least 1, got " + std::to_string(n));
  }
  const size_t count = std::min(static_cast<size_t>(n), state_.beam.size());
  std::vector<TokenSequence> sequences(count);
  std::transform(state_.beam.begin(), state_.beam.begin() + static_cast<std::ptrdiff_t>(count),
                 sequences.begin(), [this](const Prefix& prefix) {
                   return TokenSequence{TokensSince(prefix, 0), prefix.score()};
                 });
  return sequences;
}

std::vector<TokenSpan> CtcPrefixBeamSearch::BestTokensSince(size_t first) const {
  return TokensSince(state_.beam.front(), first);
}

std::vector<TokenSpan> CtcPrefixBeamSearch::TokensSince(const Prefix& prefix, size_t first) const {
  const auto length = static_cast<size_t>(state_.prefixes.value(prefix.node).length);
  std::vector<TokenSpan> tokens(length - std::min(first, length));
  const Alignment& alignment = BestAlignment(prefix);
  Emission emission = alignment.last;
  int32_t stem = alignment.stem;
  int32_t node = prefix.node;
  for (size_t i = tokens.size(); i > 0; --i) {
    // A log-softmax may round to just above zero.
    const float confidence = std::min(1.0F, std::exp(emission.log_prob));
    tokens[i - 1] = {state_.prefixes.value(node).token, emission.first_frame, emission.last_frame,
                     confidence};
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
  const auto has_tokens = [this, &tokens](const Prefix& prefix) {
    int32_t node = prefix.node;
    if (static_cast<size_t>(state_.prefixes.value(node).length) != tokens.size()) return false;
    return std::all_of(tokens.rbegin(), tokens.rend(), [this, &node](const TokenSpan& token) {
      return state_.prefixes.value(std::exchange(node, state_.prefixes.parent(node))).token ==
             token.id;
    });
  };
  const auto found = std::find_if(state_.beam.begin(), state_.beam.end(), has_tokens);
  StartUtteranceAfter(TokenOfLastFrame(found == state_.beam.end() ? state_.beam.front() : *found),
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
