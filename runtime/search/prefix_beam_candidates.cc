// The candidates of a frame: which prefixes may be in the next beam, and the choice among them.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

#include "runtime/search/firm_scores.h"
#include "runtime/search/log_probs.h"
#include "runtime/search/prefix_beam_search.h"

namespace runnel {

void CtcPrefixBeamSearch::PickTokens(const float* log_probs) {
  const MoreProbable better{log_probs};
  std::vector<int32_t>& tokens = scratch_.tokens;
  tokens.clear();
  for (int32_t id = 0; id < vocab_size_; ++id) {
    if (std::isinf(log_probs[id])) continue;
    if (tokens.size() == token_beam_) {
      if (log_probs[id] <= log_probs[tokens.front()]) continue;
      std::pop_heap(tokens.begin(), tokens.end(), better);  // the worst of those kept
      tokens.pop_back();
    }
    tokens.push_back(id);
    std::push_heap(tokens.begin(), tokens.end(), better);
  }
  for (const int32_t token : tokens) scratch_.is_picked[static_cast<size_t>(token)] = 1;
}

// The tokens that the word list allows after `prefix`.
void CtcPrefixBeamSearch::PickTokensAfter(const Prefix& prefix, const float* log_probs) {
  std::vector<int32_t>& tokens = scratch_.tokens;
  words_->TokensAfter(prefix.word_nodes, &tokens);
  if (tokens.size() <= token_beam_) return;
  std::nth_element(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(token_beam_),
                   tokens.end(), MoreProbable{log_probs});
  tokens.resize(token_beam_);
}

// Candidates without a new token: a prefix after a blank or a repetition of its last token. Where a
// shorter prefix becomes this one by a new token, that candidate is merged in here.
void CtcPrefixBeamSearch::AddUnextended(const float* log_probs) {
  const auto is_looked_at = [this](int32_t token) {
    return words_ != nullptr || scratch_.is_picked[static_cast<size_t>(token)] != 0;
  };
  for (size_t i = 0; i < state_.beam.size(); ++i) {
    const Prefix& prefix = state_.beam[i];
    Candidate candidate;
    candidate.source = i;
    if (is_looked_at(blank_id_)) candidate.blank = prefix.total + log_probs[blank_id_];
    const int32_t token = prefix.last_token;
    if (token != kNone && is_looked_at(token)) {
      candidate.non_blank = prefix.non_blank + log_probs[token];
      candidate.non_blank_score = prefix.best_non_blank.score + log_probs[token];
      const int32_t parent = state_.prefixes.parent(prefix.node);
      const int32_t parent_rank = parent == kNone ? kNone : state_.prefixes.value(parent).rank;
      if (parent_rank != kNone) {
        const Prefix& shorter = state_.beam[static_cast<size_t>(parent_rank)];
        candidate.non_blank =
            LogAdd(candidate.non_blank, TotalBefore(shorter, token) + log_probs[token]);
        const double score = BestBefore(shorter, token).score + log_probs[token];
        if (score > candidate.non_blank_score) {
          candidate.non_blank_score = score;
          candidate.non_blank_source = parent_rank;
        }
      }
    }
    candidate.total = LogAdd(candidate.blank, candidate.non_blank);
    SetScores(prefix.scorer, &candidate);
    if (candidate.total > kImpossible) scratch_.candidates.push_back(candidate);
  }
}

void CtcPrefixBeamSearch::SetScores(const PrefixScorer::State& scorer, Candidate* candidate) {
  candidate->score = candidate->total + scorer.bonus;
  candidate->potential = scorer.potential;
}

// The unextended candidates, which are the only ones so far, fill the beam.
CtcPrefixBeamSearch::LeastScores CtcPrefixBeamSearch::LeastUsefulScores() {
  const std::vector<Candidate>& candidates = scratch_.candidates;
  // With a word list, a complete prefix of any score may be needed.
  if (words_ != nullptr || candidates.size() < beam_size_) return {kImpossible, kImpossible};
  std::vector<double>& scores = scratch_.scores;
  const auto last_of_best = [&scores](size_t count) {
    const auto last = scores.begin() + static_cast<std::ptrdiff_t>(count - 1);
    std::nth_element(scores.begin(), last, scores.end(), std::greater<>());
    return *last;
  };
  LeastScores least;
  scores.clear();
  for (const Candidate& candidate : candidates) scores.push_back(candidate.score);
  least.score = last_of_best(beam_size_);
  if (num_firmest_ > 0) {
    scores.clear();
    for (const Candidate& candidate : candidates) scores.push_back(candidate.firm_score());
    least.firm_score = last_of_best(num_firmest_);
  }
  return least;
}

void CtcPrefixBeamSearch::AddExtended(const float* log_probs) {
  const LeastScores least = LeastUsefulScores();
  const double least_score = std::min(least.score, least.firm_score);
  for (size_t i = 0; i < state_.beam.size(); ++i) {
    const Prefix& prefix = state_.beam[i];
    const double most_bonus =
        prefix.scorer.bonus + (scorer_.scores() ? scorer_.MostGain(prefix.scorer) : 0);
    if (words_ != nullptr) PickTokensAfter(prefix, log_probs);
    MarkLongerPrefixes(prefix, true);
    for (const int32_t token : scratch_.tokens) {
      if (scratch_.is_merged[static_cast<size_t>(token)] != 0 || token == blank_id_) continue;
      Candidate candidate;
      candidate.source = i;
      candidate.token = token;
      candidate.non_blank = TotalBefore(prefix, token) + log_probs[token];
      candidate.total = candidate.non_blank;
      if (candidate.total == kImpossible || candidate.total + most_bonus < least_score) continue;
      SetScoresAfter(prefix, &candidate);
      if (candidate.score < least.score && candidate.firm_score() < least.firm_score) continue;
      candidate.non_blank_score = BestBefore(prefix, token).score + log_probs[token];
      candidate.non_blank_source = static_cast<int32_t>(i);
      scratch_.candidates.push_back(candidate);
    }
    MarkLongerPrefixes(prefix, false);
  }
}

// Of an extension of `prefix`.
void CtcPrefixBeamSearch::SetScoresAfter(const Prefix& prefix, Candidate* candidate) const {
  if (!scorer_.scores()) {
    candidate->score = candidate->total;
    return;
  }
  PrefixScorer::State state = prefix.scorer;
  scorer_.Extend(&state, candidate->token);
  SetScores(state, candidate);
}

// Sets is_merged for each token by which `prefix` becomes another one in the beam.
void CtcPrefixBeamSearch::MarkLongerPrefixes(const Prefix& prefix, bool is_merged) {
  state_.prefixes.ForEachChild(prefix.node, [this, is_merged](const PrefixNode& child) {
    if (child.rank != kNone) scratch_.is_merged[static_cast<size_t>(child.token)] = is_merged;
  });
}

void CtcPrefixBeamSearch::KeepBestCandidates() {
  // A total order that depends on nothing but the frames seen, so results are repeatable. An
  // unextended prefix has the lowest token, kNone.
  const auto better = [](const Candidate& a, const Candidate& b) {
    if (a.score != b.score) return a.score > b.score;
    if (a.source != b.source) return a.source < b.source;
    return a.token < b.token;
  };
  std::vector<Candidate>& candidates = scratch_.candidates;
  const size_t num_kept = std::min(beam_size_, candidates.size());
  auto end = candidates.begin() + static_cast<std::ptrdiff_t>(num_kept);
  if (end != candidates.end()) {
    std::nth_element(candidates.begin(), end, candidates.end(), better);
    if (num_firmest_ > 0) {
      end = KeepFirmest(candidates.begin(), end, candidates.end(), num_firmest_, better,
                        &scratch_.scores);
    }
    const auto is_complete = [this](const Candidate& candidate) { return IsComplete(candidate); };
    if (words_ != nullptr && std::none_of(candidates.begin(), end, is_complete)) {
      // There is one among the others, for there was one in the beam and it may stay as it is.
      const auto rest = std::partition(end, candidates.end(), is_complete);
      std::iter_swap(end, std::min_element(end, rest, better));
      ++end;
    }
    candidates.erase(end, candidates.end());
  }
  std::sort(candidates.begin(), candidates.end(), better);
}

bool CtcPrefixBeamSearch::IsComplete(const Candidate& candidate) const {
  const WordTree::Nodes& word_nodes = state_.beam[candidate.source].word_nodes;
  return candidate.token == kNone ? WordTree::IsComplete(word_nodes)
                                  : words_->CompletesWord(word_nodes, candidate.token);
}

double CtcPrefixBeamSearch::TotalBefore(const Prefix& prefix, int32_t token) {
  return token == prefix.last_token ? prefix.blank : prefix.total;
}

const CtcPrefixBeamSearch::Alignment& CtcPrefixBeamSearch::BestBefore(const Prefix& prefix,
                                                                      int32_t token) {
  return token == prefix.last_token ? prefix.best_blank : BestAlignment(prefix);
}

}  // namespace runnel
