#include "runtime/search/transducer_greedy_search.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "runtime/search/log_probs.h"
#include "runtime/search/predictor_state_fields.h"
#include "runtime/snapshot/state_fields.h"

namespace runnel {

TransducerGreedySearch::TransducerGreedySearch(const Transducer& transducer, int max_symbols)
    : transducer_(&transducer), max_symbols_(max_symbols) {
  state_.predictor = transducer.Start();
}

void TransducerGreedySearch::BeginFrame(const float* /*ctc_log_probs*/) {
  if (state_.num_passed > 0) {
    --state_.num_passed;
    ++state_.num_frames;
    return;
  }
  num_symbols_ = state_.earlier.CountIn(state_.num_frames);
  is_first_ = true;
  queries_ = {state_.predictor.get()};
}

void TransducerGreedySearch::GoOn(int64_t num_frames) {
  ++state_.num_frames;
  state_.num_passed = num_frames - 1;
  queries_.clear();
}

void TransducerGreedySearch::Answer(const float* log_probs) {
  const TransducerConfig& config = transducer_->config();
  const int32_t label = MostProbableId(log_probs, config.vocab_size, kJointToken);
  const bool is_blank = label == config.blank_id;
  if (is_first_) state_.blank_log_prob = log_probs[config.blank_id];
  is_first_ = false;
  state_.score += static_cast<double>(log_probs[label]);
  int64_t duration = is_blank ? 1 : 0;  // without TDT
  if (!config.durations.empty()) {
    const float* duration_log_probs = log_probs + config.vocab_size;
    const auto count = static_cast<int>(config.durations.size());
    const int32_t best = MostProbableId(duration_log_probs, count, kJointDuration);
    state_.score += static_cast<double>(duration_log_probs[best]);
    duration = config.durations[static_cast<size_t>(best)];
  }
  steps_.clear();
  if (is_blank) return GoOn(std::max<int64_t>(1, duration));
  const int64_t last_frame = state_.num_frames + std::max<int64_t>(1, duration) - 1;
  state_.ids.push_back(label);
  state_.tokens.push_back({label, state_.num_frames, last_frame, Confidence(log_probs[label])});
  ++num_symbols_;
  // A predictor that starts anew does not know that the frame has had an end token.
  const bool is_full = num_symbols_ >= max_symbols_ || transducer_->IsEnd(label);
  advance_ = duration == 0 && is_full ? 1 : duration;
  steps_ = {{state_.predictor.get(), label}};
}

void TransducerGreedySearch::TakeStates(const SharedPredictorState* states) {
  if (steps_.empty()) return;
  state_.predictor = states[0];
  if (advance_ > 0) return GoOn(advance_);
  queries_ = {state_.predictor.get()};
}

std::unique_ptr<TransducerSearch> TransducerGreedySearch::Clone() const {
  return std::make_unique<TransducerGreedySearch>(*this);
}

void TransducerGreedySearch::StartUtterance(int64_t first_frame) {
  queries_.clear();  // of a frame that failed
  state_ = State();
  state_.num_frames = first_frame;
  state_.predictor = transducer_->Start();
}

void TransducerGreedySearch::ContinueAfter(const std::vector<TokenSpan>& /*tokens*/) {
  State next;
  next.num_frames = state_.num_frames;
  next.num_passed = state_.num_passed;
  next.earlier = state_.earlier;
  next.predictor = std::move(state_.predictor);
  queries_.clear();
  state_ = std::move(next);
}

void TransducerGreedySearch::ReturnTo(const std::vector<TokenSpan>& tokens, int64_t begin_frame) {
  State next;
  next.num_frames = tokens.empty() ? begin_frame : FrameAfter(tokens.back());
  next.earlier = state_.earlier.After(tokens, next.num_frames);
  if (next.earlier.count >= max_symbols_) ++next.num_frames;
  next.predictor = std::move(state_.predictor);
  queries_.clear();
  state_ = std::move(next);
}

std::vector<TokenSpan> TransducerGreedySearch::BestTokensSince(size_t first) const {
  const auto skipped = static_cast<std::ptrdiff_t>(std::min(first, state_.tokens.size()));
  return {state_.tokens.begin() + skipped, state_.tokens.end()};
}

template <class Self, class Fields>
void TransducerGreedySearch::VisitState(Self& self, Fields& fields) {
  auto& state = self.state_;
  VisitTokens(state.tokens, fields);
  fields.Value(state.score);
  fields.Counter(state.num_frames);
  fields.Counter(state.num_passed);
  fields.Value(state.blank_log_prob);
  EarlierTokens::VisitState(state.earlier, fields);
  VisitPredictorState(*self.transducer_, state.predictor, fields);
}

void TransducerGreedySearch::Save(StateWriter* writer) const { VisitState(*this, *writer); }

void TransducerGreedySearch::Restore(StateReader* reader) {
  VisitState(*this, *reader);
  reader->Check(Inconsistency());
  state_.ids.clear();
  for (const TokenSpan& token : state_.tokens) state_.ids.push_back(token.id);
}

std::string TransducerGreedySearch::Inconsistency() const {
  const TransducerConfig& config = transducer_->config();
  std::string problem = TokenProblem(state_.tokens, TokenOrder::kSharedFrames, state_.num_frames,
                                     config.vocab_size, config.blank_id);
  if (!problem.empty()) return problem;
  if (!std::isfinite(state_.score)) return "score of the search is not finite";
  const int64_t most = config.durations.empty()
                           ? 0
                           : *std::max_element(config.durations.begin(), config.durations.end());
  if (state_.num_passed > most) {
    return "the search passes over " + std::to_string(state_.num_passed) +
           " frames; expected 0 to " + std::to_string(most);
  }
  return std::isnan(state_.blank_log_prob) ? "the blank's log probability is not a number" : "";
}

}  // namespace runnel
