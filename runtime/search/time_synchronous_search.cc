#include "runtime/search/time_synchronous_search.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "runtime/search/log_probs.h"

namespace runnel {

TimeSynchronousSearch::TimeSynchronousSearch(const SearchOptions& options,
                                             const Transducer& transducer, int max_symbols)
    : TransducerBeamSearch(options, transducer, -1), max_symbols_(max_symbols) {}

void TimeSynchronousSearch::BeginFrame(const float* /*ctc_log_probs*/) {
  std::vector<Hypothesis> level;
  leaving_.clear();
  for (const Hypothesis& hypothesis : beam()) {
    Hypothesis copy = Make({&hypothesis, kNone, hypothesis.next_frame, hypothesis.log_prob});
    (copy.next_frame == current_frame() ? level : leaving_).push_back(std::move(copy));
  }
  levels_.clear();
  if (level.empty()) return EndFrame(std::move(leaving_));
  is_leaving_ = false;
  Continue(std::move(level));
}

void TimeSynchronousSearch::Continue(std::vector<Hypothesis> hypotheses) {
  if (is_leaving_) return EndFrame(std::move(hypotheses));
  queries_.clear();
  for (const Hypothesis& hypothesis : hypotheses) queries_.push_back(hypothesis.predictor.get());
  levels_.push_back(std::move(hypotheses));
}

void TimeSynchronousSearch::Answer(const float* log_probs) {
  const TransducerConfig& config = transducer().config();
  const std::vector<Hypothesis>& level = levels_.back();
  for (size_t i = 0; i < level.size(); ++i) {
    const float* row = log_probs + i * static_cast<size_t>(config.num_outputs());
    MostProbableId(row, config.vocab_size, kJointToken);  // may throw
    if (config.durations.empty()) continue;
    MostProbableId(row + config.vocab_size, static_cast<int>(config.durations.size()),
                   kJointDuration);
  }
  if (levels_.size() == 1 && beam().front().next_frame == current_frame()) {
    set_blank_log_prob(log_probs[config.blank_id]);
  }
  staying_.clear();
  leaving_tokens_.clear();
  for (const Hypothesis& hypothesis : level) {
    Extend(hypothesis, log_probs);
    log_probs += config.num_outputs();
  }
  std::set<int64_t> frames;
  for (const Candidate& candidate : leaving_tokens_) frames.insert(candidate.next_frame);
  for (const int64_t frame : frames) {
    std::vector<Candidate> of_one;
    std::copy_if(leaving_tokens_.begin(), leaving_tokens_.end(), std::back_inserter(of_one),
                 [frame](const Candidate& candidate) { return candidate.next_frame == frame; });
    KeepBest(&of_one);
    for (const Candidate& candidate : of_one) leaving_.push_back(Make(candidate));
  }
  DropHopeless();
  KeepBest(&staying_);
  if (staying_.empty()) return LeaveFrame();
  std::vector<Hypothesis> next;
  for (const Candidate& candidate : staying_) next.push_back(Make(candidate));
  Request(std::move(next));
}

void TimeSynchronousSearch::Extend(const Hypothesis& hypothesis, const float* log_probs) {
  const TransducerConfig& config = transducer().config();
  const auto blank = static_cast<double>(log_probs[config.blank_id]);
  static const std::vector<int32_t> kNoTokens;
  const auto num_symbols = num_earlier_tokens() + static_cast<int64_t>(levels_.size()) - 1;
  const bool is_full = num_symbols >= max_symbols_;
  const std::vector<int32_t>& tokens = is_full ? kNoTokens : LikelyTokens(log_probs);
  // Without TDT a token stays on the frame, and a blank goes on by one.
  const auto extend = [&](int64_t duration, double before) {
    leaving_.push_back(Make(MakeCandidate(
        hypothesis, kNone, current_frame() + std::max<int64_t>(1, duration), before + blank, 0)));
    for (const int32_t token : tokens) {
      // A predictor that starts anew does not know that the frame has had an end token.
      const int64_t frames = transducer().IsEnd(token) ? std::max<int64_t>(1, duration) : duration;
      const Candidate candidate =
          MakeCandidate(hypothesis, token, current_frame() + frames,
                        before + static_cast<double>(log_probs[token]), log_probs[token]);
      (frames == 0 ? staying_ : leaving_tokens_).push_back(candidate);
    }
  };
  if (config.durations.empty()) return extend(0, hypothesis.log_prob);
  for (size_t k = 0; k < config.durations.size(); ++k) {
    const float duration_log_prob = log_probs[static_cast<size_t>(config.vocab_size) + k];
    extend(config.durations[k], hypothesis.log_prob + static_cast<double>(duration_log_prob));
  }
}

void TimeSynchronousSearch::DropHopeless() {
  if (leaving_.size() < beam_size()) return;
  const auto least_of = [this](auto score_of) {
    std::vector<double> scores;
    for (const Hypothesis& hypothesis : leaving_) scores.push_back(score_of(hypothesis));
    const auto last = scores.begin() + static_cast<std::ptrdiff_t>(beam_size()) - 1;
    std::nth_element(scores.begin(), last, scores.end(), std::greater<>());
    return *last - kMostBehind;
  };
  const double least = least_of([](const Hypothesis& of) { return of.score(); });
  const double least_firm = least_of([](const Hypothesis& of) { return of.firm_score(); });
  const auto is_hopeless = [least, least_firm](const Candidate& candidate) {
    return candidate.score() < least && candidate.firm_score() < least_firm;
  };
  staying_.erase(std::remove_if(staying_.begin(), staying_.end(), is_hopeless), staying_.end());
}

void TimeSynchronousSearch::LeaveFrame() {
  std::map<int64_t, std::vector<Hypothesis>> by_frame;
  for (Hypothesis& hypothesis : leaving_) {
    std::vector<Hypothesis>* list = &by_frame[hypothesis.next_frame];
    Merge(std::move(hypothesis), list);
  }
  leaving_.clear();
  for (const std::vector<Hypothesis>& level : levels_) {
    for (const Hypothesis& hypothesis : level) Release(hypothesis);
  }
  std::vector<Hypothesis> kept;
  for (auto& [frame, hypotheses] : by_frame) {
    KeepBest(&hypotheses);
    std::move(hypotheses.begin(), hypotheses.end(), std::back_inserter(kept));
  }
  is_leaving_ = true;
  Request(std::move(kept));
}

std::unique_ptr<TransducerSearch> TimeSynchronousSearch::Clone() const {
  return std::make_unique<TimeSynchronousSearch>(*this);
}

}  // namespace runnel
