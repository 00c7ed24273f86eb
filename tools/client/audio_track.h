// The encoded audio of a recording, which is complete or still growing.
#ifndef RUNNEL_TOOLS_CLIENT_AUDIO_TRACK_H_
#define RUNNEL_TOOLS_CLIENT_AUDIO_TRACK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "frontend/audio_source.h"
#include "tools/cli/sample_encoding.h"

namespace runnel::client {

// A piece of a track, valid as long as the track.
struct AudioSlice {
  const void* data = nullptr;
  int64_t num_samples = 0;
  size_t num_bytes = 0;
};

// Not thread-safe. Appended bytes never move.
class AudioTrack {
 public:
  AudioTrack(int sample_rate_hz, SampleEncoding encoding)
      : sample_rate_hz_(sample_rate_hz), sample_size_(SampleSize(encoding)) {}

  // `bytes`: whole encoded samples.
  void Append(std::string bytes);
  // Nothing is appended after this call.
  void SetComplete() { is_complete_ = true; }

  // At most `max_samples` samples from `first` on, which is at most num_samples(). Fewer at the end
  // of a block, which is what one call of Append appended.
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

// Encodes samples in [-1, 1], little-endian. PCM16 is rounded and clipped, which restores the
// samples of 16-bit recordings.
std::string EncodeSamples(const float* samples, size_t count, SampleEncoding encoding);

// Opens a recording at `sample_rate_hz`, or at its own rate if that is 0. Throws as AudioSource
// does.
AudioSource OpenAudio(const std::string& path, int sample_rate_hz);

// Reads a whole recording. `sample_rate_hz` as of OpenAudio. Throws as AudioSource does.
std::shared_ptr<const AudioTrack> ReadTrack(const std::string& path, int sample_rate_hz,
                                            SampleEncoding encoding);

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_AUDIO_TRACK_H_
