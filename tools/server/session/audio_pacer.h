// Limits the speed at which a session reads audio (max_speed).
#ifndef RUNNEL_TOOLS_SERVER_SESSION_AUDIO_PACER_H_
#define RUNNEL_TOOLS_SERVER_SESSION_AUDIO_PACER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace runnel::server {

// A first `burst_s` of audio is read at any speed, further audio at `max_speed` times real time,
// counted from the first sample on. Reads no clock: the caller passes the time.
class AudioPacer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `max_speed` 0: no limit.
  AudioPacer(double max_speed, double burst_s) : max_speed_(max_speed), burst_s_(burst_s) {}

  // `sample_rate_hz` is the same in all calls.
  void OnAudio(size_t num_samples, int sample_rate_hz, Time now);

  // When the next audio may be read; Time::min() when the audio so far is within the burst.
  Time NextAudioAt() const;

 private:
  const double max_speed_;
  const double burst_s_;
  std::optional<Time> first_audio_;
  int64_t num_samples_ = 0;
  int sample_rate_hz_ = 0;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_AUDIO_PACER_H_
