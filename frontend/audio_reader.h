// Reads audio files and piped audio in blocks, as mono floating-point samples at their own rate.
// AudioSource (frontend/audio_source.h) adds resampling.
#ifndef RUNNEL_FRONTEND_AUDIO_READER_H_
#define RUNNEL_FRONTEND_AUDIO_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace runnel {

struct AudioReaderOptions {
  // The channel to read, counted from 0; -1: the mean of all channels.
  int channel = -1;

  // The audio track to read, counted from 0; -1: the one that FFmpeg prefers. Only containers that
  // media_decoder reads have several.
  int audio_track = -1;

  // Whether damage is an error. Otherwise the healthy parts are decoded, and warnings() tells what
  // was left out. Such damage is zeros, junk, cut frames and pages in what media_decoder reads, and
  // up to 64 KiB before the first frame of MP3 and AAC. Of AMR, and of FLAC, it is always an error.
  bool strict_recordings = false;

  // Largest size, in bytes, of an input that must be copied to a temporary file: one that cannot
  // seek and is not WAV. More is an error, so that an endless input does not fill the disk.
  uint64_t max_spool_bytes = uint64_t{4} << 30;

  // For input of strangers: refuse libsndfile's formats of samplers and workstations, whose readers
  // hardly anyone uses. What is left is WAV, FLAC, AIFF, AU, CAF, W64, VOC, NIST SPHERE and all
  // that media_decoder reads, in a process of its own.
  bool only_common_formats = false;
};

// Reads, by libsndfile, WAV (PCM of 8 to 32 bits, float, A-law, mu-law, ADPCM; plain or extensible
// header; chunks before and after the samples), FLAC, and libsndfile's other formats, such as AIFF,
// AU and CAF. Reads, by the program media_decoder (FFmpeg), MP3, MP4 and M4A (AAC, Opus, ALAC),
// WebM and Matroska, Ogg (Opus, Vorbis, FLAC, Speex), AAC in ADTS frames, AMR, MPEG-TS, AVI, FLV,
// ASF (WMA), CAF in encodings that libsndfile lacks, and WAV with G.722,
// G.723.1, G.726 or MP3. Any rate from 1 kHz to 10 MHz and any number of channels. Never holds more
// than a block of the input in memory. MIDI sample dumps (SDS) are refused, because libsndfile's
// reader writes to standard output.
//
// Samples stand at their time: pauses of a recorder and the time before a track that begins later
// than another are silence (frontend/media/recording_clock.h).
//
// Recordings that were joined: a chain of Ogg streams of one codec, and MP3, AAC or WebM files one
// after the other, are read to the end, at the rate of the first. Of all others, another recording
// behind the first is an error at the end, in files and pipes. Other bytes behind the samples are
// an error for WAV, unless they are chunks, tags or zeros, and for FLAC, unless they are tags or
// zeros. Behind MP3 and AAC anything may stand that is no recording, behind Ogg and WebM zeros. A
// WAV file with a second chunk of samples is refused.
//
// Input that cannot seek (a pipe, a terminal) works for every format. WAV is decoded as it arrives;
// other formats are first copied to a temporary file without a name, up to
// AudioReaderOptions.max_spool_bytes.
//
// Damaged input: a file of WAV, AIFF, AU, W64, VOC or NIST SPHERE that ends before its header says
// is read as far as it goes, because recorders leave such files behind (announced_samples tells).
// When the header leaves the length open (0 or all bits set), the file is read to the end of the
// input. A FLAC file that is cut off or damaged is an error as soon as the damage is reached. Other
// formats are read as far as the library can, or refused when they are opened. What media_decoder
// reads may end anywhere. Damage before the end is skipped, with a warning, or an error as soon as
// it is reached (AudioReaderOptions::strict_recordings), where the format shows it: every bit of
// Ogg, frames and elements of MP3, AAC, WebM and fragmented MP4, zeros in place of a packet. It
// does not show in PCM, G.722, G.723.1 and G.726, where packets still decode, and where whole
// frames of AAC or AMR, or clusters of WebM, were removed. A crash or too much memory (128 MiB) of
// media_decoder is an error, and so are 60 s without progress.
//
// Move-only. One thread at a time per reader.
class AudioReader {
 public:
  // `path`: a file, or "-" for standard input. Throws std::runtime_error naming the path and the
  // reason if it is missing, a directory, empty, not audio of a format or rate that can be read, or
  // lacks the channel asked for; std::invalid_argument if options.channel is below -1.
  explicit AudioReader(const std::string& path, const AudioReaderOptions& options = {});

  // Reads the bytes of a file, such as the body of a request. The reader keeps a copy of them.
  // `name` replaces the path in messages.
  static AudioReader FromBytes(std::string_view bytes, const std::string& name,
                               const AudioReaderOptions& options = {});
  ~AudioReader();
  AudioReader(AudioReader&&) noexcept;
  AudioReader& operator=(AudioReader&&) noexcept;

  // As messages have it: the path, or "standard input".
  const std::string& name() const;
  int sample_rate_hz() const;
  int num_channels() const;

  // Whether the input is standard input, or no regular file: its samples come one by one.
  bool is_live() const;

  // Samples per channel, if known before reading: of a file, those that it really has; of a pipe,
  // those that its header announces. No value when the header leaves the length open, and for what
  // media_decoder reads.
  std::optional<int64_t> num_samples() const;

  // Samples per channel that the header announces. When Read has returned fewer at the end, the
  // recording was cut off. Of plain and companded RIFF; of other encodings, and of RF64, AIFF, AU,
  // W64, VOC and NIST SPHERE, only when the recording was cut off, those of a codec to within a
  // block of it. No value when the header leaves the length open (of RIFF, AIFF and AU: 0, or 2 GiB
  // and more), and for other formats. For what media_decoder reads, only after the end, and only
  // when the recording was cut off.
  std::optional<int64_t> announced_samples() const;

  // What is known so far of a recording that is not as it should be, or of which a part is left
  // out: damage that was skipped and its place, further tracks of audio. Each is the rest of a
  // sentence whose subject is the recording, in one line. Complete at the end. Only for what
  // media_decoder reads.
  std::vector<std::string> warnings() const;

  // Writes the next samples and returns their number: `max_samples`, fewer only at the end, 0 from
  // then on. A pipe of WAV is then read to its end. Samples of integer formats are in [-1, 1];
  // those of floating-point formats are as stored, in [-1, 1] or a little beyond. The rest of the
  // buffer is undefined. A pipe blocks until `max_samples` have arrived, so ask for few to get
  // results early. Throws std::runtime_error naming the path if the input is damaged, if something
  // else follows the recording, or if a sample is NaN or beyond 100 in magnitude.
  size_t Read(float* samples, size_t max_samples);

 private:
  class Impl;
  explicit AudioReader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_AUDIO_READER_H_
