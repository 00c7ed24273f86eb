#include "runtime/stream/token_times.h"

#include <algorithm>
#include <cstddef>

#include "runtime/model/model_parts.h"

namespace runnel {

std::vector<SpokenFrames> FramesOf(const std::vector<TokenSpan>& tokens, SpokenFrames within,
                                   const std::function<bool(int32_t)>& takes_no_time) {
  std::vector<SpokenFrames> frames(tokens.size());
  int64_t latest_end = within.end;
  for (size_t i = tokens.size(); i > 0; --i) {
    const TokenSpan& token = tokens[i - 1];
    if (i > 1 && takes_no_time(token.id)) continue;
    frames[i - 1] = {std::max(token.first_frame, within.begin),
                     std::max(std::min(token.last_frame + 1, latest_end), within.begin)};
    latest_end = frames[i - 1].begin;
  }
  for (size_t i = 1; i < tokens.size(); ++i) {
    if (takes_no_time(tokens[i].id)) frames[i] = {frames[i - 1].end, frames[i - 1].end};
  }
  return frames;
}

TokenTimes::TokenTimes(const Model& model, Head head)
    : model_(&model),
      frame_ms_(model.encoder_frame_ms()),
      has_durations_(head == Head::kTransducer &&
                     !model.parts().config.transducer->durations.empty()) {}

bool TokenTimes::TakesNoTime(int32_t id) const {
  return !model_->tokens().IsText(id) || (has_durations_ && model_->tokens().IsPunctuation(id));
}

std::vector<Token> TokenTimes::InMilliseconds(const std::vector<TokenSpan>& spans,
                                              SpokenFrames within) const {
  const std::vector<SpokenFrames> frames = Frames(spans, within);
  std::vector<Token> tokens;
  for (size_t i = 0; i < spans.size(); ++i) {
    tokens.push_back({spans[i].id, BeginMs(frames[i].begin), BeginMs(frames[i].end),
                      spans[i].confidence, spans[i].first_frame});
  }
  return tokens;
}

std::optional<SpokenMs> TokenTimes::SpeechOf(const std::vector<TokenSpan>& spans,
                                             SpokenFrames within) const {
  const std::vector<SpokenFrames> frames = Frames(spans, within);
  std::optional<SpokenFrames> speech;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (!model_->tokens().IsText(spans[i].id)) continue;
    if (!speech) speech = frames[i];
    speech->end = frames[i].end;
  }
  if (!speech) return std::nullopt;
  const double begin_ms = BeginMs(speech->begin);
  const double end_ms = std::min(BeginMs(within.end), EndOfAudioMs(speech->end - 1));
  return SpokenMs{begin_ms, std::max(begin_ms, end_ms)};
}

int64_t TokenTimes::FirstFrameFrom(double ms) const {
  auto frame = static_cast<int64_t>(ms / frame_ms_);
  while (BeginMs(frame) < ms) ++frame;
  return frame;
}

std::vector<SpokenFrames> TokenTimes::Frames(const std::vector<TokenSpan>& spans,
                                             SpokenFrames within) const {
  return FramesOf(spans, within, [this](int32_t id) { return TakesNoTime(id); });
}

double TokenTimes::BeginMs(int64_t encoder_frame) const {
  return static_cast<double>(encoder_frame) * frame_ms_;
}

double TokenTimes::EndOfAudioMs(int64_t encoder_frame) const {
  const ModelParts& parts = model_->parts();
  const SubsamplingGeometry& geometry = parts.encoder.subsampling();
  const int64_t num_frames = encoder_frame * geometry.rate() + geometry.right_context() + 1;
  return 1000.0 * static_cast<double>(parts.frame_extractor->SamplesForFrames(num_frames)) /
         model_->sample_rate_hz();
}

}  // namespace runnel
