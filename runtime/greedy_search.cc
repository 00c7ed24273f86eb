#include "runtime/greedy_search.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>

#include "runtime/log_probs.h"

namespace runnel {

CtcGreedySearch::CtcGreedySearch(int vocab_size, int blank_id)
    : vocab_size_(vocab_size), blank_id_(blank_id) {
  CheckVocabulary(vocab_size, blank_id);
}

void CtcGreedySearch::Advance(const float* log_probs, int64_t num_frames) {
  CheckLogProbs(log_probs, num_frames, vocab_size_);
  for (int64_t t = 0; t < num_frames; ++t) AdvanceFrame(log_probs + t * vocab_size_);
}

void CtcGreedySearch::AdvanceFrame(const float* log_probs) {
  const float* best = std::max_element(log_probs, log_probs + vocab_size_);  // the first of equals
  const auto id = static_cast<int32_t>(best - log_probs);
  if (id != blank_id_) {
    if (id != state_.last_id) {
      state_.ids.push_back(id);
      state_.tokens.push_back({id, state_.num_frames, state_.num_frames, 0});
    }
    TokenSpan& token = state_.tokens.back();
    token.last_frame = state_.num_frames;
    // A log-softmax may round to just above zero.
    token.confidence = std::max(token.confidence, std::min(1.0F, std::exp(*best)));
  }
  state_.last_id = id;
  state_.score += *best;
  ++state_.num_frames;
}

std::vector<TokenSequence> CtcGreedySearch::NBest(int n) const {
  if (n < 1) {
    throw std::invalid_argument("NBest: n must be at least 1, got " + std::to_string(n));
  }
  return {TokenSequence{state_.tokens, state_.score}};
}

std::vector<TokenSpan> CtcGreedySearch::BestTokensSince(size_t first) const {
  const auto skipped = static_cast<std::ptrdiff_t>(std::min(first, state_.tokens.size()));
  return {state_.tokens.begin() + skipped, state_.tokens.end()};
}

std::unique_ptr<CtcSearch> CtcGreedySearch::Clone() const {
  return std::make_unique<CtcGreedySearch>(*this);
}

void CtcGreedySearch::Reset() { state_ = State(); }

}  // namespace runnel
