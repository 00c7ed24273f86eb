#include "runtime/search/one_label_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/search/log_probs.h"

namespace runnel {
namespace {

// icefall counts the two blanks that every sequence of its decoder begins with.
constexpr int kContextLength = 2;

}  // namespace

OneLabelSearch::OneLabelSearch(const SearchOptions& options, const Transducer& transducer,
                               int length_offset, double ctc_weight)
    : TransducerBeamSearch(options, transducer, length_offset), ctc_weight_(ctc_weight) {}

void OneLabelSearch::BeginFrame(const float* ctc_log_probs) {
  ctc_log_probs_ = ctc_log_probs;
  queries_.clear();
  for (const Hypothesis& hypothesis : beam()) queries_.push_back(hypothesis.predictor.get());
}

void OneLabelSearch::Answer(const float* log_probs) {
  const TransducerConfig& config = transducer().config();
  const auto width = static_cast<size_t>(config.num_outputs());
  const int64_t next_frame = current_frame() + 1;
  candidates_.clear();
  if (fuses()) MostProbableId(ctc_log_probs_, config.vocab_size, "CTC head, token");  // may throw
  for (const Hypothesis& hypothesis : beam()) {
    MostProbableId(log_probs, config.vocab_size, kJointToken);  // may throw
    const float* fused = fuses() ? Fuse(log_probs) : log_probs;
    if (&hypothesis == &beam().front()) set_blank_log_prob(fused[config.blank_id]);
    const auto extend = [&](int32_t token, float log_prob) {
      if (std::isinf(log_prob)) return;  // there is another label
      candidates_.push_back(MakeCandidate(hypothesis, token, next_frame,
                                          hypothesis.log_prob + static_cast<double>(log_prob),
                                          log_prob));
    };
    extend(kNone, fused[config.blank_id]);
    for (const int32_t token : LikelyTokens(fused)) extend(token, fused[token]);
    log_probs += width;
  }
  Request(Select());
}

const float* OneLabelSearch::Fuse(const float* log_probs) {
  const auto size = static_cast<size_t>(transducer().config().vocab_size);
  fused_.resize(size);
  for (size_t i = 0; i < size; ++i) {
    fused_[i] = static_cast<float>(
        std::log((1 - ctc_weight_) * std::exp(static_cast<double>(log_probs[i])) +
                 ctc_weight_ * std::exp(static_cast<double>(ctc_log_probs_[i]))));
  }
  return fused_.data();
}

std::vector<OneLabelSearch::Hypothesis> OneLabelSearch::MergeCandidates() {
  std::vector<Hypothesis> merged;
  for (const Candidate& candidate : candidates_) Merge(Make(candidate), &merged);
  return merged;
}

ModifiedBeamSearch::ModifiedBeamSearch(const SearchOptions& options, const Transducer& transducer)
    : OneLabelSearch(options, transducer, kContextLength, options.ctc_weight) {}

std::vector<ModifiedBeamSearch::Hypothesis> ModifiedBeamSearch::Select() {
  KeepBest(&candidates_);
  return MergeCandidates();
}

std::unique_ptr<TransducerSearch> ModifiedBeamSearch::Clone() const {
  return std::make_unique<ModifiedBeamSearch>(*this);
}

PrefixMergingSearch::PrefixMergingSearch(const SearchOptions& options, const Transducer& transducer)
    : OneLabelSearch(options, transducer, -1, options.ctc_weight) {}

std::vector<PrefixMergingSearch::Hypothesis> PrefixMergingSearch::Select() {
  // What is not among the beam_size best of its hypothesis is not merged, as in WeNet.
  std::vector<Candidate> kept;
  for (auto begin = candidates_.begin(); begin != candidates_.end();) {
    const auto end = std::find_if(begin, candidates_.end(), [&](const Candidate& candidate) {
      return candidate.source != begin->source;
    });
    std::vector<Candidate> of_one(begin, end);
    KeepBest(&of_one);
    kept.insert(kept.end(), of_one.begin(), of_one.end());
    begin = end;
  }
  candidates_.swap(kept);
  std::vector<Hypothesis> merged = MergeCandidates();
  KeepBest(&merged);
  return merged;
}

std::unique_ptr<TransducerSearch> PrefixMergingSearch::Clone() const {
  return std::make_unique<PrefixMergingSearch>(*this);
}

}  // namespace runnel
