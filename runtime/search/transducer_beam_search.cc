#include "runtime/search/transducer_beam_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/search/firm_scores.h"
#include "runtime/search/log_probs.h"

namespace runnel {

TransducerBeamSearch::TransducerBeamSearch(const SearchOptions& options,
                                           const Transducer& transducer, int length_offset)
    : transducer_(&transducer),
      beam_size_(static_cast<size_t>(options.beam_size)),
      token_beam_(static_cast<size_t>(std::max(options.token_beam, options.beam_size))),
      length_offset_(length_offset),
      scorer_(options, transducer.config().vocab_size, transducer.config().blank_id),
      num_firmest_(NumFirmest(beam_size_, scorer_)),
      state_(InitialState(0)) {}

TransducerBeamSearch::State TransducerBeamSearch::InitialState(int64_t first_frame) const {
  State state;
  state.num_frames = first_frame;
  state.beam.resize(1);
  Hypothesis& empty = state.beam.front();
  empty.next_frame = first_frame;
  empty.scorer = scorer_.Start();
  empty.predictor = transducer_->Start();
  state.emissions.Acquire(kRoot);  // by the beam
  return state;
}

void TransducerBeamSearch::StartUtterance(int64_t first_frame) {
  queries_.clear();  // of a frame that failed
  state_ = InitialState(first_frame);
}

void TransducerBeamSearch::GoOnFrom(const Hypothesis& hypothesis, int64_t first_frame,
                                    int64_t next_frame, const EarlierTokens& earlier) {
  State next = InitialState(first_frame);
  next.earlier = earlier;
  next.beam.front().predictor = hypothesis.predictor;
  next.beam.front().next_frame = next_frame;
  queries_.clear();
  state_ = std::move(next);
}

void TransducerBeamSearch::ContinueAfter(const std::vector<TokenSpan>& tokens) {
  const Hypothesis& hypothesis = state_.emissions.FindOrBest(state_.beam, tokens);
  GoOnFrom(hypothesis, state_.num_frames, hypothesis.next_frame, state_.earlier);
}

void TransducerBeamSearch::ReturnTo(const std::vector<TokenSpan>& tokens, int64_t begin_frame) {
  const int64_t frame = tokens.empty() ? begin_frame : FrameAfter(tokens.back());
  GoOnFrom(state_.emissions.FindOrBest(state_.beam, tokens), frame, frame,
           state_.earlier.After(tokens, frame));
}

void TransducerBeamSearch::Finish() {
  if (state_.is_finished) return;
  state_.is_finished = true;
  std::vector<Hypothesis> merged;  // some may wait for different frames
  for (Hypothesis& hypothesis : state_.beam) Merge(std::move(hypothesis), &merged);
  state_.beam = std::move(merged);
  for (Hypothesis& hypothesis : state_.beam) scorer_.End(&hypothesis.scorer, 0);
  RankBeam();
}

const std::vector<int32_t>& TransducerBeamSearch::LikelyTokens(const float* log_probs) {
  const TransducerConfig& config = transducer_->config();
  tokens_.resize(static_cast<size_t>(config.vocab_size));
  std::iota(tokens_.begin(), tokens_.end(), 0);
  tokens_.erase(tokens_.begin() + config.blank_id);
  const size_t count = std::min(token_beam_, tokens_.size());
  const auto end = tokens_.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(tokens_.begin(), end, tokens_.end(), MoreProbable{log_probs});
  tokens_.erase(end, tokens_.end());
  return tokens_;
}

TransducerBeamSearch::Candidate TransducerBeamSearch::MakeCandidate(const Hypothesis& source,
                                                                    int32_t token,
                                                                    int64_t next_frame,
                                                                    double log_prob,
                                                                    float token_log_prob) const {
  Candidate made = {&source,
                    token,
                    next_frame,
                    log_prob,
                    token_log_prob,
                    source.scorer.bonus,
                    source.scorer.potential};
  if (token != kNone && scorer_.scores()) {
    PrefixScorer::State state = source.scorer;
    ExtendScorer(&state, token, token_log_prob);
    made.bonus = state.bonus;
    made.potential = state.potential;
  }
  return made;
}

void TransducerBeamSearch::ExtendScorer(PrefixScorer::State* state, int32_t token,
                                        float log_prob) const {
  scorer_.Extend(state, token, -static_cast<double>(log_prob));
}

template <typename Item>
typename std::vector<Item>::iterator TransducerBeamSearch::SortKept(std::vector<Item>* items) {
  const auto better = [](const Item& a, const Item& b) { return a.score() > b.score(); };
  std::stable_sort(items->begin(), items->end(), better);
  if (items->size() <= beam_size_) return items->end();
  const auto best_end = items->begin() + static_cast<std::ptrdiff_t>(beam_size_);
  if (num_firmest_ == 0) return best_end;
  const auto end =
      KeepFirmest(items->begin(), best_end, items->end(), num_firmest_, better, &firm_scores_);
  std::stable_sort(best_end, end, better);
  return end;
}

void TransducerBeamSearch::KeepBest(std::vector<Candidate>* candidates) {
  candidates->erase(SortKept(candidates), candidates->end());
}

void TransducerBeamSearch::KeepBest(std::vector<Hypothesis>* hypotheses) {
  const auto end = SortKept(hypotheses);
  std::for_each(end, hypotheses->end(), [this](const Hypothesis& other) { Release(other); });
  hypotheses->erase(end, hypotheses->end());
}

int32_t TransducerBeamSearch::AddEmission(int32_t parent, int32_t token, const Emission& emission) {
  constexpr uint64_t kOdd = 0x9E3779B97F4A7C15U;  // of the golden ratio (Knuth)
  EmittedToken added = {token, emission};
  added.hash = (state_.emissions.value(parent).hash + static_cast<uint64_t>(token) + 1) * kOdd;
  added.hash ^= added.hash >> 32;
  return state_.emissions.Add(parent, added);
}

TransducerBeamSearch::Hypothesis TransducerBeamSearch::Make(const Candidate& candidate) {
  Hypothesis made = *candidate.source;
  made.log_prob = candidate.log_prob;
  made.next_frame = candidate.next_frame;
  if (candidate.token == kNone) {
    state_.emissions.Acquire(made.node);
    return made;
  }
  const int64_t last_frame = std::max(state_.num_frames, candidate.next_frame - 1);
  made.node = AddEmission(made.node, candidate.token,
                          {state_.num_frames, last_frame, candidate.token_log_prob});
  ExtendScorer(&made.scorer, candidate.token, candidate.token_log_prob);
  made.is_behind = true;
  return made;
}

void TransducerBeamSearch::Request(std::vector<Hypothesis> hypotheses) {
  requested_ = std::move(hypotheses);
  steps_.clear();
  for (const Hypothesis& hypothesis : requested_) {
    if (!hypothesis.is_behind) continue;
    steps_.push_back({hypothesis.predictor.get(), state_.emissions.value(hypothesis.node).token});
  }
}

void TransducerBeamSearch::TakeStates(const SharedPredictorState* states) {
  for (Hypothesis& hypothesis : requested_) {
    if (!hypothesis.is_behind) continue;
    hypothesis.predictor = *states++;
    hypothesis.is_behind = false;
  }
  Continue(std::move(requested_));
}

bool TransducerBeamSearch::HaveEqualTokens(int32_t a, int32_t b) const {
  const TokenTree<EmittedToken>& tree = state_.emissions;
  if (tree.value(a).length != tree.value(b).length || tree.value(a).hash != tree.value(b).hash) {
    return false;
  }
  for (; a != b; a = tree.parent(a), b = tree.parent(b)) {
    if (tree.value(a).token != tree.value(b).token) return false;
  }
  return true;
}

void TransducerBeamSearch::Merge(Hypothesis hypothesis, std::vector<Hypothesis>* list) {
  const auto equal = std::find_if(list->begin(), list->end(), [&](const Hypothesis& other) {
    return HaveEqualTokens(other.node, hypothesis.node);
  });
  if (equal == list->end()) {
    list->push_back(std::move(hypothesis));
    return;
  }
  const double total = LogAdd(equal->log_prob, hypothesis.log_prob);
  if (hypothesis.log_prob > equal->log_prob) std::swap(*equal, hypothesis);
  equal->log_prob = total;
  Release(hypothesis);
}

void TransducerBeamSearch::EndFrame(std::vector<Hypothesis> beam) {
  for (const Hypothesis& hypothesis : state_.beam) Release(hypothesis);
  state_.beam = std::move(beam);
  ++state_.num_frames;
  queries_.clear();
  RankBeam();
}

double TransducerBeamSearch::RankScore(const Hypothesis& hypothesis) const {
  if (length_offset_ < 0) return hypothesis.score();
  return hypothesis.score() / (state_.emissions.value(hypothesis.node).length + length_offset_);
}

void TransducerBeamSearch::RankBeam() {
  std::stable_sort(
      state_.beam.begin(), state_.beam.end(),
      [this](const Hypothesis& a, const Hypothesis& b) { return RankScore(a) > RankScore(b); });
  state_.emissions.Follow(state_.beam);
}

TokenSequence TransducerBeamSearch::SequenceAt(size_t rank) const {
  const Hypothesis& hypothesis = state_.beam[rank];
  return {TokensSince(hypothesis, 0), hypothesis.score()};
}

std::vector<TokenSpan> TransducerBeamSearch::BestTokensSince(size_t first) const {
  return TokensSince(state_.beam.front(), first);
}

std::vector<TokenSpan> TransducerBeamSearch::TokensSince(const Hypothesis& hypothesis,
                                                         size_t first) const {
  const size_t length = state_.emissions.Length(hypothesis.node);
  std::vector<TokenSpan> tokens(length - std::min(first, length));
  int32_t node = hypothesis.node;
  for (size_t i = tokens.size(); i > 0; --i, node = state_.emissions.parent(node)) {
    const EmittedToken& emitted = state_.emissions.value(node);
    tokens[i - 1] = emitted.emission.SpanOf(emitted.token);
  }
  return tokens;
}

}  // namespace runnel
