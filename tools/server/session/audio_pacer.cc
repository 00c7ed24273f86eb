#include "tools/server/session/audio_pacer.h"

#include "tools/cli/seconds.h"

namespace runnel::server {

void AudioPacer::OnAudio(size_t num_samples, int sample_rate_hz, Time now) {
  if (!first_audio_.has_value()) first_audio_ = now;
  num_samples_ += static_cast<int64_t>(num_samples);
  sample_rate_hz_ = sample_rate_hz;
}

AudioPacer::Time AudioPacer::NextAudioAt() const {
  if (max_speed_ <= 0 || !first_audio_.has_value()) return Time::min();
  const double audio_s = static_cast<double>(num_samples_) / sample_rate_hz_;
  const double ahead_s = audio_s - burst_s_;
  if (ahead_s <= 0) return Time::min();
  return *first_audio_ + Seconds(ahead_s / max_speed_);
}

}  // namespace runnel::server
