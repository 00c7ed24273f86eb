// The input of a stream: samples to the feature frames of its next chunks.
#ifndef RUNNEL_RUNTIME_STREAM_FRAME_INPUT_H_
#define RUNNEL_RUNTIME_STREAM_FRAME_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "frontend/feature_stream.h"
#include "frontend/resampler.h"
#include "runtime/model.h"
#include "runtime/stream.h"
#include "runtime/stream/silence_gate.h"

namespace runnel {

// Turns the samples of a stream into the feature frames that its encoder reads. Frames of silence
// are skipped once SkipSilence is called. A value.
class FrameInput {
 public:
  // `options` are resolved.
  FrameInput(const Model& model, const StreamOptions& options);

  // As the functions of Stream. FindSpeech follows each of them. A preview is not finished.
  void AcceptSamples(const float* samples, size_t count);
  void AcceptFeatures(const float* frames, size_t count);
  void Finish();
  int64_t num_samples() const;
  // Of the samples; of features that came in their place, as long as their frames.
  double duration_ms() const;

  // Makes this copy the input of a preview: the audio ends with the frames that are complete,
  // followed by `count` times `frame`.
  void EndWithPadding(const std::vector<float>& frame, int64_t count);
  bool is_preview() const { return is_preview_; }
  // Whether no audio follows.
  bool has_ended() const { return features_.finished() || is_preview_; }

  // From now on frames are skipped, until FindSpeech finds speech in them.
  void SkipSilence() { gate_.Close(); }
  bool skips_silence() const { return gate_.is_closed(); }
  // While silence is skipped: reads the frames that are complete, until speech begins. Returns the
  // index of the first frame that was kept from before the speech; none while silence goes on, and
  // when none is skipped.
  std::optional<int64_t> FindSpeech();
  // Drops frames from the front of those kept.
  void DropKept(int64_t count);

  // Frames that Take could give. While silence is skipped, none is to be taken.
  int64_t NumFramesReady() const;
  // The next frames, (count, dim).
  std::vector<float> Take(int64_t count);
  // Adds the `count` next frames to `frames`, without taking them.
  void Peek(int64_t count, std::vector<float>* frames);

  // The least number of further samples, at least 1, before `num_frames` frames of the stream are
  // complete. An estimate for a stream that resamples.
  int64_t MinSamplesTo(int64_t num_frames) const;

  int64_t num_frames_kept() const { return static_cast<int64_t>(gate_.num_held()); }
  const FeatureStream& features() const { return features_; }

  // For the snapshot of a stream (runtime/snapshot/state_fields.h). Not of a preview.
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    if (self.resampler_) Resampler::VisitState(*self.resampler_, fields);
    FeatureStream::VisitState(self.features_, fields);
    SilenceGate::VisitState(self.gate_, fields);
  }
  // Which restored parts contradict each other; "" if none do. Throws std::invalid_argument for
  // samples that AcceptSamples would refuse.
  std::string Inconsistency() const;

 private:
  int sample_rate_hz_;                  // of the samples
  std::optional<Resampler> resampler_;  // when the rate of the samples is not the model's
  FeatureStream features_;
  SilenceGate gate_;     // after the features
  bool learns_silence_;  // the gate is told the frames that pass
  bool is_preview_ = false;
  std::vector<float> padding_;  // of a preview: (n, dim) frames after the last one
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_FRAME_INPUT_H_
