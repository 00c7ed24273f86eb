// Audio files and piped audio, read in blocks as mono floating-point samples.
//
// Where it stands: the first stage for whoever has files, or the bytes of one. AudioSource
// (audio_source.h) puts a resampler behind it; who receives samples over a network needs neither.

#ifndef RUNNEL_FRONTEND_AUDIO_READER_H_
#define RUNNEL_FRONTEND_AUDIO_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace runnel {

struct AudioReaderOptions {
  // The channel to read, counted from 0; -1: the mean of all channels.
  int channel = -1;

  // Of input that cannot be searched and is not WAV: the bytes that are copied to a temporary file
  // at most. More is an error, so that an input without an end does not fill the disk.
  std::uint64_t max_spool_bytes = std::uint64_t{4} << 30;

  // Refuse what does not begin as WAV or FLAC does. For input of strangers: libsndfile's readers of
  // rare formats are not what one wants to trust then.
  bool only_wav_and_flac = false;
};

// Reads, by libsndfile, WAV (PCM of 8 to 32 bits, float, A-law, mu-law, ADPCM; plain or extensible
// header; chunks before and after the samples), FLAC, and libsndfile's other formats, at any rate
// from 1 kHz to 10 MHz and with any number of channels. Never holds more than a block of the input
// in memory.
//
// Input that cannot be searched (a pipe, a terminal) works for every format: WAV is decoded as it
// arrives; anything else whose first bytes can be audio is first copied to a temporary file without
// a name, as far as AudioReaderOptions.max_spool_bytes.
//
// Damaged input: a WAV file that ends before its header says is read as far as it goes, because
// recorders leave such files behind (announced_samples tells); where the header leaves the length
// open (0 or all bits set) it is read to the end of the input. A FLAC file that is cut off or
// damaged is an error as soon as the damage is reached; where its header says how many samples
// there are, what stands behind the last one, such as a tag, is not looked at.
//
// Move-only. Thread rule: one thread at a time per reader.
class AudioReader {
 public:
  // `path`: a file, or "-" for standard input. Throws std::runtime_error naming the path and the
  // reason if it is missing, a directory, empty, not audio of a format or rate that can be read, or
  // lacks the channel asked for; std::invalid_argument if options.channel is below -1.
  explicit AudioReader(const std::string& path, const AudioReaderOptions& options = {});

  // The same of a file's bytes, such as the body of a request: they are copied, into memory that
  // the reader holds to its end. `name` takes the path's place in messages.
  static AudioReader FromBytes(std::string_view bytes, const std::string& name,
                               const AudioReaderOptions& options = {});
  ~AudioReader();
  AudioReader(AudioReader&&) noexcept;
  AudioReader& operator=(AudioReader&&) noexcept;

  int sample_rate_hz() const;
  int num_channels() const;

  // Samples per channel, as far as the input says beforehand: what a truncated file really has, but
  // nothing for a stream whose header leaves it open, and what the header promises for a pipe.
  std::optional<std::int64_t> num_samples() const;

  // Samples per channel that the header of a WAV file announces, whether or not they are there:
  // more than Read has returned at the end means that the recording was cut off. Nothing where the
  // header leaves it open (0) or announces 2 GiB or more, and for all but plain and companded RIFF.
  std::optional<std::int64_t> announced_samples() const;

  // Writes the next samples, in [-1, 1] for integer formats, as stored for floating-point ones, and
  // returns their number: `max_samples`, fewer only at the end, 0 from then on. What is in the
  // buffer behind them is undefined. From a pipe this waits for `max_samples`, so that a caller who
  // wants results early asks for few. Throws std::runtime_error naming the path if the input is
  // damaged or a sample is not a finite number.
  std::size_t Read(float* samples, std::size_t max_samples);

 private:
  class Impl;
  explicit AudioReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_AUDIO_READER_H_
