// Decides frame by frame where an utterance ends.
#ifndef RUNNEL_RUNTIME_STREAM_ENDPOINT_DETECTOR_H_
#define RUNNEL_RUNTIME_STREAM_ENDPOINT_DETECTOR_H_

#include <array>
#include <cstdint>
#include <string>

#include "runtime/endpoint_options.h"

namespace runnel {

// Applies EndpointOptions to the frames of one stream. A value.
class EndpointDetector {
 public:
  // `options` are valid. frame_ms: duration of an encoder frame.
  EndpointDetector(const EndpointOptions& options, double frame_ms);

  // Takes the next encoder frame of the utterance: the model's natural log probability of the
  // blank, and whether the utterance has tokens so far. Returns whether the utterance ends after
  // this frame; StartUtterance follows then.
  bool Advance(float blank_log_prob, bool has_tokens);

  // The same for frames that end no utterance, because endpoints are not enabled.
  void PassFrames(int64_t count) { num_frames_ += count; }

  // Whether silence goes on: a rule that asks for silence ended the utterance before, and every
  // frame since is silent.
  bool silence_goes_on() const { return follows_silence_ && num_silent_ == num_frames_; }

  // Whether a rule that asks for silence ended the utterance before.
  bool follows_silence() const { return follows_silence_; }

  // The utterance ends for another reason than a rule that asks for silence.
  void EndWithoutSilence() { follows_silence_ = false; }

  void StartUtterance() { num_frames_ = num_silent_ = 0; }

  // Of the utterance.
  int64_t num_frames() const { return num_frames_; }

  // The state, for the snapshot of a stream (runtime/snapshot/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Counter(self.num_frames_);
    fields.Counter(self.num_silent_);
    fields.Value(self.follows_silence_);
    if constexpr (Fields::kReading) {
      fields.Require(self.num_silent_ <= self.num_frames_,
                     "an utterance has more silent frames than frames");
    }
  }

 private:
  struct Rule {
    bool needs_speech;
    int64_t min_silent;  // frames
    int64_t min_frames;
  };

  std::array<Rule, std::tuple_size_v<decltype(EndpointOptions::rules)>> rules_{};
  double silence_log_prob_;
  int64_t num_frames_ = 0;  // of the utterance
  int64_t num_silent_ = 0;  // at its end
  // The utterance before ended by a rule that asks for silence. Meaningless before the first
  // endpoint.
  bool follows_silence_ = false;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_ENDPOINT_DETECTOR_H_
