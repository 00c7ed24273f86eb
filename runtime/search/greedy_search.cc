#include "runtime/search/greedy_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "runtime/search/log_probs.h"
#include "runtime/snapshot/state_fields.h"
#include "runtime/text/vocabulary.h"

namespace runnel {

CtcGreedySearch::CtcGreedySearch(int vocab_size, int blank_id)
    : vocab_size_(vocab_size), blank_id_(blank_id) {
  CheckVocabulary(vocab_size, blank_id);
}

void CtcGreedySearch::Advance(const float* log_probs, int64_t num_frames) {
  for (const int32_t id : MostProbableIds(log_probs, num_frames, vocab_size_, state_.num_frames)) {
    AdvanceFrame(id, log_probs[id]);
    log_probs += vocab_size_;
  }
}

void CtcGreedySearch::AdvanceFrame(int32_t id, float log_prob) {
  if (id != blank_id_ && id != state_.last_id) {
    state_.ids.push_back(id);
    state_.tokens.push_back({id, state_.num_frames, state_.num_frames, 0});
  }
  // Without tokens it goes on with the last token of the utterance before.
  if (id != blank_id_ && !state_.tokens.empty()) {
    TokenSpan& token = state_.tokens.back();
    token.last_frame = state_.num_frames;
    token.confidence = std::max(token.confidence, Confidence(log_prob));
  }
  state_.last_id = id;
  state_.score += log_prob;
  ++state_.num_frames;
}

void CtcGreedySearch::StartUtterance(int64_t first_frame) {
  StartUtteranceAfter(first_frame == state_.num_frames ? state_.last_id : kNoToken, first_frame);
}

void CtcGreedySearch::StartUtteranceAfter(int32_t token_before, int64_t first_frame) {
  state_ = State();
  state_.num_frames = first_frame;
  state_.last_id = token_before;
}

void CtcGreedySearch::ContinueAfter(const std::vector<TokenSpan>& /*tokens*/) {
  StartUtterance(state_.num_frames);
}

int32_t CtcGreedySearch::TokenOfLastFrame() const {
  return state_.last_id == blank_id_ ? kNoToken : state_.last_id;
}

std::vector<TokenSpan> CtcGreedySearch::BestTokensSince(size_t first) const {
  const auto skipped = static_cast<std::ptrdiff_t>(std::min(first, state_.tokens.size()));
  return {state_.tokens.begin() + skipped, state_.tokens.end()};
}

template <class Self, class Fields>
void CtcGreedySearch::VisitState(Self& self, Fields& fields) {
  auto& state = self.state_;
  VisitTokens(state.tokens, fields);
  fields.Value(state.score);
  fields.Counter(state.num_frames);
  fields.Value(state.last_id);
}

void CtcGreedySearch::Save(StateWriter* writer) const { VisitState(*this, *writer); }

void CtcGreedySearch::Restore(StateReader* reader) {
  VisitState(*this, *reader);
  reader->Check(Inconsistency());
  state_.ids.clear();
  for (const TokenSpan& token : state_.tokens) state_.ids.push_back(token.id);
}

std::string CtcGreedySearch::Inconsistency() const {
  std::string problem =
      TokenProblem(state_.tokens, TokenOrder::kApart, state_.num_frames, vocab_size_, blank_id_);
  if (!problem.empty()) return problem;
  if (!std::isfinite(state_.score)) return "score of the search is not finite";
  // The last frame emitted the blank or the last token, which may be of the utterance before.
  const int32_t last = state_.last_id;
  const bool is_consistent = state_.tokens.empty()
                                 ? last >= -1 && last < vocab_size_
                                 : last == blank_id_ || last == state_.tokens.back().id;
  return is_consistent ? ""
                       : "token of the last frame is " + std::to_string(last) +
                             "; expected the blank or the last token";
}

std::unique_ptr<CtcSearch> CtcGreedySearch::Clone() const {
  return std::make_unique<CtcGreedySearch>(*this);
}

void CtcGreedySearch::Reset() { state_ = State(); }

}  // namespace runnel
