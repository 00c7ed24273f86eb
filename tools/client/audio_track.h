// A recording as the bytes that a client sends, all there or still growing.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below client/session).
#ifndef RUNNEL_TOOLS_CLIENT_AUDIO_TRACK_H_
#define RUNNEL_TOOLS_CLIENT_AUDIO_TRACK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "frontend/audio_source.h"
#include "tools/client/client_protocol.h"

namespace runnel::client {

// A piece of a track; valid as long as the track is.
struct AudioSlice {
  const void* data = nullptr;
  int64_t num_samples = 0;
  size_t num_bytes = 0;
};

// Not thread-safe. What was appended never moves.
class AudioTrack {
 public:
  AudioTrack(int sample_rate_hz, SampleEncoding encoding)
      : sample_rate_hz_(sample_rate_hz), sample_size_(SampleSize(encoding)) {}

  // Whole samples as the encoding has them.
  void Append(std::string bytes);
  // Nothing more will be appended.
  void SetComplete() { is_complete_ = true; }

  // From sample `first` (at most num_samples()) on, `max_samples` at most and fewer at the end of a
  // block that was appended at once.
  AudioSlice Slice(int64_t first, int64_t max_samples) const;

  int64_t num_samples() const { return num_samples_; }
  bool is_complete() const { return is_complete_; }
  int sample_rate_hz() const { return sample_rate_hz_; }
  double duration_s() const { return static_cast<double>(num_samples_) / sample_rate_hz_; }

 private:
  struct Block {
    int64_t begin;  // sample
    std::string bytes;
  };

  const int sample_rate_hz_;
  const int sample_size_;
  std::deque<Block> blocks_;
  int64_t num_samples_ = 0;
  bool is_complete_ = false;
};

// Samples in [-1, 1], little-endian, as the encoding has them: PCM16 is rounded and clipped, so
// that 16-bit recordings come out as they were.
std::string EncodeSamples(const float* samples, size_t count, SampleEncoding encoding);

// A recording at `sample_rate_hz` or (0) at its own rate. Throws as AudioSource does.
AudioSource OpenAudio(const std::string& path, int sample_rate_hz);

// Reads all of it. Throws as AudioSource does.
std::shared_ptr<const AudioTrack> ReadTrack(const std::string& path, int sample_rate_hz,
                                            SampleEncoding encoding);

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_AUDIO_TRACK_H_
