#include "runtime/stream/token_times.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include "runtime/model/model_parts.h"
#include "runtime/text/utf8.h"

namespace runnel {
namespace {

// CTC and RNN-T emit a token within its sound, and nothing when it ends. The longer its text, the
// more of it follows: measured against alignments by another model (docs/accuracy.md).
constexpr double kTailMs = 80;
constexpr double kTailMsPerCharacter = 40;

}  // namespace

std::vector<SpokenMs> TimesOf(const std::vector<TokenSpan>& tokens, SpokenMs within,
                              double frame_ms, const TokenTail& tail) {
  std::vector<SpokenMs> times(tokens.size());
  std::vector<bool> has_duration(tokens.size());
  double latest_end = within.end;
  for (size_t i = tokens.size(); i > 0; --i) {
    const TokenSpan& token = tokens[i - 1];
    const std::optional<double> tail_ms = tail(token.id);
    has_duration[i - 1] = tail_ms.has_value() || i == 1;
    if (!has_duration[i - 1]) continue;
    const double first_ms = static_cast<double>(token.first_frame) * frame_ms;
    const double last_ms = static_cast<double>(token.last_frame + 1) * frame_ms;
    SpokenMs& time = times[i - 1];
    time.end = std::max(std::min(last_ms + tail_ms.value_or(0), latest_end), within.begin);
    time.begin = std::max(std::min(first_ms, time.end - kLeastTokenMs), within.begin);
    latest_end = time.begin;
  }
  for (size_t i = 1; i < tokens.size(); ++i) {
    if (!has_duration[i]) times[i] = {times[i - 1].end, times[i - 1].end};
  }
  return times;
}

TokenTimes::TokenTimes(const Model& model, Head head)
    : model_(&model),
      has_durations_(head == Head::kTransducer &&
                     !model.parts().config.transducer->durations.empty()) {}

bool TokenTimes::TakesNoTime(int32_t id) const {
  return !model_->tokens().IsText(id) || (has_durations_ && model_->tokens().IsPunctuation(id));
}

std::optional<double> TokenTimes::TailMs(int32_t id) const {
  if (TakesNoTime(id)) return std::nullopt;
  const std::string& text = model_->tokens().text(id);
  const bool is_boundary = text.find_first_not_of(' ') == std::string::npos;
  if (has_durations_ || is_boundary) return 0;
  const auto num_characters = std::count_if(text.begin(), text.end(),
                                            [](char c) { return c != ' ' && BeginsCharacter(c); });
  return kTailMs + kTailMsPerCharacter * static_cast<double>(num_characters);
}

std::vector<Token> TokenTimes::InMilliseconds(const std::vector<TokenSpan>& spans,
                                              SpokenMs within) const {
  const std::vector<SpokenMs> times = Times(spans, within);
  std::vector<Token> tokens;
  for (size_t i = 0; i < spans.size(); ++i) {
    tokens.push_back(
        {spans[i].id, times[i].begin, times[i].end, spans[i].confidence, spans[i].first_frame});
  }
  return tokens;
}

std::optional<SpokenMs> TokenTimes::SpeechOf(const std::vector<TokenSpan>& spans,
                                             SpokenMs within) const {
  const std::vector<SpokenMs> times = Times(spans, within);
  std::optional<SpokenMs> speech;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (!model_->tokens().IsText(spans[i].id)) continue;
    if (!speech) speech = times[i];
    speech->end = times[i].end;
  }
  return speech;
}

std::vector<SpokenMs> TokenTimes::Times(const std::vector<TokenSpan>& spans,
                                        SpokenMs within) const {
  return TimesOf(spans, within, model_->encoder_frame_ms(),
                 [this](int32_t id) { return TailMs(id); });
}

double EndOfFramesMs(const Model& model, int64_t end_frame) {
  if (end_frame == 0) return 0;
  const ModelParts& parts = model.parts();
  const SubsamplingGeometry& geometry = parts.encoder.subsampling();
  const int64_t num_frames = (end_frame - 1) * geometry.rate() + geometry.right_context() + 1;
  const double read_ms =
      std::floor(1000.0 * static_cast<double>(parts.frame_extractor->SamplesForFrames(num_frames)) /
                 model.sample_rate_hz());
  return std::min(static_cast<double>(end_frame) * model.encoder_frame_ms(), read_ms);
}

}  // namespace runnel
