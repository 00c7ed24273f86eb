#include "runtime/stream/endpoint_detector.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

namespace runnel {
EndpointDetector::EndpointDetector(const EndpointOptions& options, double frame_ms)
    : silence_log_prob_(std::log(options.silence_blank_probability)) {
  const auto frames = [frame_ms](double seconds) {
    // A little less, so that 1.2 s are 30 frames of 40 ms however the quotient is rounded.
    return static_cast<int64_t>(std::ceil(seconds * 1000 / frame_ms - 1e-6));
  };
  std::transform(
      options.rules.begin(), options.rules.end(), rules_.begin(), [&](const EndpointRule& rule) {
        return Rule{rule.needs_speech, frames(rule.min_silence_s), frames(rule.min_utterance_s)};
      });
}

bool EndpointDetector::Advance(float blank_log_prob, bool has_tokens) {
  ++num_frames_;
  num_silent_ = static_cast<double>(blank_log_prob) >= silence_log_prob_ ? num_silent_ + 1 : 0;
  // With tokens, the first rule would end the utterance before the silence of the second one.
  const auto first = rules_.begin() + (has_tokens ? 1 : 0);
  const auto holds = [&](const Rule& rule) {
    return (has_tokens || !rule.needs_speech) && num_silent_ >= rule.min_silent &&
           num_frames_ >= rule.min_frames;
  };
  if (std::none_of(first, rules_.end(), holds)) return false;
  follows_silence_ = std::any_of(
      first, rules_.end(), [&](const Rule& rule) { return rule.min_silent > 0 && holds(rule); });
  return true;
}

}  // namespace runnel
