// Holds feature frames back while the audio is background noise, and lets them pass when it is
// louder.
#ifndef RUNNEL_RUNTIME_STREAM_SILENCE_GATE_H_
#define RUNNEL_RUNTIME_STREAM_SILENCE_GATE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace runnel {

// The level of a frame is that of FrameExtractor::Level. The background level falls fast and rises
// slowly, as in minimum tracking of noise (Martin 2001). Speech begins when kOnsetFrames of the
// last kWindow frames are kMargin above it. A value; depends on the frames only.
class SilenceGate {
 public:
  static constexpr int kWindow = 8;  // frames
  static constexpr int kOnsetFrames = 5;
  static constexpr float kMargin = 1.0F;  // 4.3 dB

  // dim: of a frame. num_lead_frames: those kept from before the onset, at least 1.
  SilenceGate(int dim, size_t num_lead_frames)
      : dim_(static_cast<size_t>(dim)), num_lead_frames_(num_lead_frames) {}

  // While open: learns the level of a frame that passes.
  void Observe(float level) { IsLoud(level); }

  // To be called in silence.
  void Close();

  // While closed: takes the next frame, drops the oldest one if it holds more than the lead, and
  // opens at the onset of speech.
  void Hold(const float* frame, float level);

  bool is_closed() const { return is_closed_; }

  // The frames that wait, (num_held, dim); after the gate has opened, the next to pass.
  size_t num_held() const { return held_.size() / dim_; }
  const std::vector<float>& held() const { return held_; }
  // Moves the first `count` of them to `frames`, or drops them when it is null.
  void Take(size_t count, float* frames);

  // The state, for the snapshot of a stream (runtime/snapshot/state_fields.h).
  template <class Self, class Fields>
  static void VisitState(Self& self, Fields& fields) {
    fields.Value(self.is_closed_);
    fields.Value(self.has_background_);
    fields.Value(self.background_);
    fields.Value(self.recent_);
    fields.Values(self.held_);
    if constexpr (Fields::kReading) fields.Check(self.Inconsistency());
  }

 private:
  // Whether a frame of this level is louder than the background.
  bool IsLoud(float level);
  std::string Inconsistency() const;

  size_t dim_;
  size_t num_lead_frames_;
  bool is_closed_ = false;
  bool has_background_ = false;
  float background_ = 0;  // level
  uint32_t recent_ = 0;   // bit i: the frame i frames ago was loud
  std::vector<float> held_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_STREAM_SILENCE_GATE_H_
