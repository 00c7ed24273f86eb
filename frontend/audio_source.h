// Audio files and piped audio at the rate a model needs.
//
// Where it stands: what tools read from; its samples go to a stream of the runtime, or to a
// FeatureStream.

#ifndef RUNNEL_FRONTEND_AUDIO_SOURCE_H_
#define RUNNEL_FRONTEND_AUDIO_SOURCE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "frontend/audio_reader.h"
#include "frontend/resampler.h"

namespace runnel {

// An AudioReader with a Resampler behind it. The samples do not depend on how many are read at a
// time. Move-only. Thread rule: one thread at a time per source.
class AudioSource {
 public:
  // `path`: a file, or "-" for standard input. `rate_hz`: of the samples that Read returns. Throws
  // as the constructors of AudioReader and Resampler do.
  AudioSource(const std::string& path, int rate_hz, const AudioReaderOptions& options = {});
  // Of any reader, such as AudioReader::FromBytes.
  AudioSource(AudioReader reader, int rate_hz);

  // Writes the next samples, mono, in [-1, 1] unless a floating-point file or the resampling filter
  // goes beyond, and returns their number: `max_samples`, fewer only at the end, 0 from then on.
  // Throws std::runtime_error as AudioReader::Read does.
  std::size_t Read(float* samples, std::size_t max_samples);

  int rate_hz() const { return resampler_.out_rate_hz(); }
  int input_rate_hz() const { return reader_.sample_rate_hz(); }
  int num_channels() const { return reader_.num_channels(); }

  // Duration of the whole input, as far as it is known beforehand (see AudioReader::num_samples).
  std::optional<double> duration_s() const;

  // Duration that the header announces, if it does (see AudioReader::announced_samples): more than
  // seconds_read() at the end means that the recording was cut off.
  std::optional<double> announced_s() const;

  // Duration of the input read so far; at the end, of all of it.
  double seconds_read() const;

 private:
  AudioReader reader_;
  Resampler resampler_;
  std::size_t input_samples_ = 0;  // read so far
  bool input_ended_ = false;
  std::vector<float> block_;
  std::vector<float> resampled_;  // waiting to be read, from resampled_head_ on
  std::size_t resampled_head_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_AUDIO_SOURCE_H_
