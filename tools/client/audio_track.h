// The samples of a recording, which is complete or still growing.
#ifndef RUNNEL_TOOLS_CLIENT_AUDIO_TRACK_H_
#define RUNNEL_TOOLS_CLIENT_AUDIO_TRACK_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "frontend/audio_source.h"
#include "tools/cli/sample_encoding.h"

namespace runnel::client {

// A piece of a track, valid as long as the track.
struct AudioSlice {
  const float* samples = nullptr;
  int64_t num_samples = 0;
};

// Not thread-safe. Appended samples never move.
class AudioTrack {
 public:
  explicit AudioTrack(int sample_rate_hz) : sample_rate_hz_(sample_rate_hz) {}

  void Append(std::vector<float> samples);
  // Nothing is appended after this call.
  void SetComplete() { is_complete_ = true; }

  // At most `max_samples` samples from `first` on. Fewer at the end of a block, which is what one
  // call of Append appended, and none from num_samples() on.
  AudioSlice Slice(int64_t first, int64_t max_samples) const;

  int64_t num_samples() const { return num_samples_; }
  bool is_complete() const { return is_complete_; }
  int sample_rate_hz() const { return sample_rate_hz_; }
  double duration_s() const { return static_cast<double>(num_samples_) / sample_rate_hz_; }

 private:
  struct Block {
    int64_t begin;  // sample
    std::vector<float> samples;
  };

  const int sample_rate_hz_;
  std::deque<Block> blocks_;
  int64_t num_samples_ = 0;
  bool is_complete_ = false;
};

// Opens a recording at `sample_rate_hz`. 0: its own rate or, for Opus, the next rate that Opus has.
// Throws as AudioSource does.
AudioSource OpenAudio(const std::string& path, int sample_rate_hz, SampleEncoding encoding);

// Reads a whole recording, as OpenAudio opens it. `warnings`: receives AudioSource::Warnings.
// Throws as AudioSource does.
std::shared_ptr<const AudioTrack> ReadTrack(const std::string& path, int sample_rate_hz,
                                            SampleEncoding encoding,
                                            std::vector<std::string>* warnings);

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_AUDIO_TRACK_H_
