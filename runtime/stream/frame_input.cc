#include "runtime/stream/frame_input.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "runtime/model/model_parts.h"

namespace runnel {
namespace {

std::optional<Resampler> MakeResampler(int in_rate_hz, int out_rate_hz) {
  if (in_rate_hz == out_rate_hz) return std::nullopt;
  return Resampler(in_rate_hz, out_rate_hz);
}

size_t LeadFrames(const Model& model, double lead_s) {
  return std::max(size_t{1},
                  static_cast<size_t>(std::lround(lead_s * 1000 / model.feature_frame_ms())));
}

}  // namespace

FrameInput::FrameInput(const Model& model, const StreamOptions& options)
    : sample_rate_hz_(options.sample_rate_hz),
      resampler_(MakeResampler(options.sample_rate_hz, model.sample_rate_hz())),
      features_(model.parts().frame_extractor, model.parts().config.features.sample_scale),
      gate_(features_.dim(), LeadFrames(model, options.endpoints.skip_silence_lead_s)),
      learns_silence_(options.endpoints.skip_silence) {}

void FrameInput::AcceptSamples(const float* samples, size_t count) {
  if (is_preview_) throw std::invalid_argument("AcceptSamples on a preview");
  if (!resampler_) return features_.AcceptSamples(samples, count);
  features_.CheckSamples(samples, count, num_samples());
  std::vector<float> resampled;
  resampler_->Process(samples, count, &resampled);
  features_.AppendSamples(resampled.data(), resampled.size());
}

void FrameInput::AcceptFeatures(const float* frames, size_t count) {
  if (resampler_) {
    throw std::invalid_argument("AcceptFeatures: the stream resamples, expected sample_rate_hz " +
                                std::to_string(resampler_->out_rate_hz()) + ", the model's");
  }
  features_.AcceptFrames(frames, count);
}

void FrameInput::Finish() {
  if (resampler_ && !features_.finished()) {
    std::vector<float> resampled;
    resampler_->Flush(&resampled);
    features_.AppendSamples(resampled.data(), resampled.size());
  }
  features_.Finish();
}

int64_t FrameInput::num_samples() const {
  return resampler_ ? resampler_->num_in() : features_.samples_accepted();
}

double FrameInput::duration_ms() const {
  const auto num_frames = static_cast<double>(features_.frames_accepted());
  return 1000.0 * static_cast<double>(num_samples()) / sample_rate_hz_ +
         num_frames * features_.extractor().geometry().shift_ms();
}

void FrameInput::EndWithPadding(const std::vector<float>& frame, int64_t count) {
  is_preview_ = true;
  for (int64_t i = 0; i < count; ++i) {
    padding_.insert(padding_.end(), frame.begin(), frame.end());
  }
}

std::optional<int64_t> FrameInput::FindSpeech() {
  if (!gate_.is_closed()) return std::nullopt;
  std::vector<float> frame(static_cast<size_t>(features_.dim()));
  while (gate_.is_closed() && features_.PopFrames(1, frame.data()) > 0) {
    gate_.Hold(frame.data(), features_.extractor().Level(frame.data()));
  }
  if (gate_.is_closed()) return std::nullopt;
  return features_.frames_popped() - num_frames_kept();
}

void FrameInput::DropKept(int64_t count) { gate_.Take(static_cast<size_t>(count), nullptr); }

int64_t FrameInput::NumFramesReady() const {
  return num_frames_kept() + features_.NumFramesReady() +
         static_cast<int64_t>(padding_.size()) / features_.dim();
}

std::vector<float> FrameInput::Take(int64_t count) {
  const auto dim = static_cast<size_t>(features_.dim());
  std::vector<float> frames(static_cast<size_t>(count) * dim);
  const size_t num_kept = std::min(static_cast<size_t>(count), gate_.num_held());
  gate_.Take(num_kept, frames.data());
  const size_t num_taken = num_kept + features_.PopFrames(static_cast<size_t>(count) - num_kept,
                                                          frames.data() + num_kept * dim);
  if (learns_silence_) {
    for (size_t t = num_kept; t < num_taken; ++t) {
      gate_.Observe(features_.extractor().Level(frames.data() + t * dim));
    }
  }
  const auto rest = padding_.begin() + static_cast<std::ptrdiff_t>(frames.size() - num_taken * dim);
  std::copy(padding_.begin(), rest, frames.begin() + static_cast<std::ptrdiff_t>(num_taken * dim));
  padding_.erase(padding_.begin(), rest);
  return frames;
}

void FrameInput::Peek(int64_t count, std::vector<float>* frames) {
  const auto dim = static_cast<size_t>(features_.dim());
  const size_t wanted = static_cast<size_t>(count) * dim;
  const size_t num_kept = std::min(wanted, gate_.held().size());
  frames->insert(frames->end(), gate_.held().begin(),
                 gate_.held().begin() + static_cast<std::ptrdiff_t>(num_kept));
  const size_t end = frames->size() + wanted - num_kept;
  const size_t first = frames->size();
  frames->resize(end);
  const size_t num_peeked = features_.PeekFrames((end - first) / dim, frames->data() + first) * dim;
  std::copy_n(padding_.begin(), end - first - num_peeked,
              frames->begin() + static_cast<std::ptrdiff_t>(first + num_peeked));
}

int64_t FrameInput::MinSamplesTo(int64_t num_frames) const {
  int64_t needed = features_.extractor().SamplesForFrames(num_frames);
  if (resampler_) needed = resampler_->MinInputFor(needed);
  return std::max<int64_t>(1, needed - num_samples());
}

std::string FrameInput::Inconsistency() const {
  if (!resampler_) return "";
  if (features_.samples_accepted() != resampler_->num_out()) {
    return "number of resampled samples is " + std::to_string(features_.samples_accepted()) +
           "; expected " + std::to_string(resampler_->num_out());
  }
  if (features_.finished() != resampler_->flushed()) {
    return "the resampler and the features differ in whether the audio has ended";
  }
  if (!features_.finished()) {
    const std::vector<float>& held = resampler_->held();
    features_.CheckSamples(held.data(), held.size(), 0);
  }
  return "";
}

}  // namespace runnel
