// Reads audio files and piped audio at the sample rate that a model needs.

#ifndef RUNNEL_FRONTEND_AUDIO_SOURCE_H_
#define RUNNEL_FRONTEND_AUDIO_SOURCE_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/audio_reader.h"

namespace runnel {

class Resampler;

// An AudioReader followed by a Resampler. The samples do not depend on how many are read at a time.
// Move-only. One thread at a time per source.
class AudioSource {
 public:
  // `path`: a file, or "-" for standard input. `rate_hz`: rate of the samples that Read returns.
  // Throws as the constructor of AudioReader does, and std::invalid_argument if `rate_hz` is not
  // positive or libsoxr cannot convert to it.
  AudioSource(const std::string& path, int rate_hz, const AudioReaderOptions& options = {});
  // Takes any reader, such as AudioReader::FromBytes.
  AudioSource(AudioReader reader, int rate_hz);
  ~AudioSource();
  AudioSource(AudioSource&&) noexcept;
  AudioSource& operator=(AudioSource&&) noexcept;

  // Whether the recording ends within its first `seconds`. Reads at most a block beyond these, and
  // keeps what it reads for Read. False for standard input, a pipe and a device, which it does not
  // read: they are live. Throws as Read does.
  bool EndsWithin(double seconds);

  // Writes the next mono samples and returns their number: `max_samples`, fewer only at the end, 0
  // from then on. They are in [-1, 1], unless a floating-point file or the resampling filter
  // exceeds that range. Throws std::runtime_error as AudioReader::Read does.
  size_t Read(float* samples, size_t max_samples);

  int rate_hz() const;
  int input_rate_hz() const { return reader_.sample_rate_hz(); }
  int num_channels() const { return reader_.num_channels(); }

  // Duration of the whole input, if known before reading (see AudioReader::num_samples).
  std::optional<double> duration_s() const;

  // Duration that the header announces (see AudioReader::announced_samples). When it is longer than
  // seconds_read() at the end, the recording was cut off.
  std::optional<double> announced_s() const;

  // Duration of the input read so far.
  double seconds_read() const;

  // When all is read: AudioReader::warnings with the name before them, one line each. Also for a
  // recording that was cut off "a.wav: ends after 0.56 s, its header announces 1.76 s", and for one
  // without audio "a.wav: has no samples".
  std::vector<std::string> Warnings() const;

 private:
  std::string LengthWarning() const;

  AudioReader reader_;
  std::unique_ptr<Resampler> resampler_;
  size_t input_samples_ = 0;  // read so far
  bool input_ended_ = false;
  std::vector<float> block_;
  std::vector<float> waiting_;  // to be read, from waiting_head_ on
  size_t waiting_head_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_AUDIO_SOURCE_H_
