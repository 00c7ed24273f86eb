#include "frontend/audio_reader.h"

#include <sndfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

#include "frontend/announced_size.h"
#include "frontend/audio_format.h"
#include "frontend/media/container.h"
#include "frontend/media/media_process.h"
#include "frontend/media/tags.h"
#include "frontend/mix_channels.h"
#include "frontend/sample_range.h"
#include "frontend/sndfile_errors.h"
#include "frontend/sndfile_file.h"
#include "frontend/wav_stream.h"
#include "frontend/what_follows.h"
#include "platform/file_descriptor.h"

namespace runnel {
namespace {

// Values, of all channels together, read at a time where channels have to be combined.
constexpr size_t kBlockValues = 1 << 14;

// Beyond any recorder's. A damaged header that says 1 Hz would make hours of audio of a small file.
constexpr int kMinRateHz = 1000;
constexpr int kMaxRateHz = 10000000;

constexpr char kAllFormats[] =
    "WAV, FLAC, MP3, MP4, WebM, Ogg, AAC, AMR, MPEG-TS, AVI, FLV, WMA or another format of "
    "libsndfile";

// Of one sample of an uncompressed or companded format; 0 for the others.
int SampleBytes(int format) {
  switch (format & SF_FORMAT_SUBMASK) {
    case SF_FORMAT_PCM_U8:
    case SF_FORMAT_ALAW:
    case SF_FORMAT_ULAW:
      return 1;
    case SF_FORMAT_PCM_16:
      return 2;
    case SF_FORMAT_PCM_24:
      return 3;
    case SF_FORMAT_PCM_32:
    case SF_FORMAT_FLOAT:
      return 4;
    case SF_FORMAT_DOUBLE:
      return 8;
    default:
      return 0;
  }
}

struct SndfileCloser {
  void operator()(SNDFILE* file) const { sf_close(file); }
};

}  // namespace

class AudioReader::Impl {
 public:
  // `open_input` may throw std::system_error. is_live: of standard input, whatever it is.
  Impl(std::string name, bool is_live, const std::function<FileDescriptor()>& open_input,
       const AudioReaderOptions& options)
      : name_(std::move(name)),
        is_live_(is_live),
        choice_{options.channel, options.audio_track, options.strict_recordings},
        max_spool_bytes_(options.max_spool_bytes),
        only_common_formats_(options.only_common_formats) {
    if (choice_.channel < -1) {
      throw std::invalid_argument("AudioReaderOptions.channel is " +
                                  std::to_string(choice_.channel) +
                                  ", expected -1 (mean of all) or a channel from 0");
    }
    if (choice_.audio_track < -1) {
      throw std::invalid_argument("AudioReaderOptions.audio_track is " +
                                  std::to_string(choice_.audio_track) +
                                  ", expected -1 (any) or a track from 0");
    }
    try {
      Open(open_input());
    } catch (const std::system_error& error) {
      Fail(error.what());
    }
    if (info_.channels < 1) Fail("has no channels, expected at least 1");
    if (info_.samplerate < kMinRateHz || info_.samplerate > kMaxRateHz) {
      Fail("has a sample rate of " + std::to_string(info_.samplerate) + " Hz, expected " +
           std::to_string(kMinRateHz) + " to " + std::to_string(kMaxRateHz));
    }
    if (choice_.channel >= info_.channels) {
      Fail("has " + std::to_string(info_.channels) + " channels, expected channel " +
           std::to_string(choice_.channel) + " (counted from 0)");
    }
    if (media_ == nullptr && choice_.audio_track > 0) {
      Fail("has 1 audio track, expected track " + std::to_string(choice_.audio_track) +
           " (counted from 0)");
    }
    if (file_ != nullptr && info_.channels > 1) {
      block_.resize(std::max(kBlockValues, num_channels()) / num_channels() * num_channels());
    }
  }

  const SF_INFO& info() const { return info_; }
  bool length_known() const { return length_known_; }
  bool is_live() const { return is_live_; }
  const std::string& name() const { return name_; }
  std::optional<int64_t> announced_samples() const { return announced_samples_; }
  std::vector<std::string> warnings() const {
    std::vector<std::string> warnings = warnings_;
    if (media_ != nullptr) {
      warnings.insert(warnings.end(), media_->warnings().begin(), media_->warnings().end());
    }
    return warnings;
  }

  size_t Read(float* samples, size_t max_samples) {
    size_t done = 0;
    while (done < max_samples) {
      const size_t count = ReadOrExplain(samples + done, max_samples - done);
      if (count == 0) {
        CheckEnd();
        break;
      }
      samples_read_ += static_cast<int64_t>(count);
      done += count;
    }
    return done;
  }

 private:
  void Open(FileDescriptor input) {
    struct stat status = {};
    if (::fstat(input.get(), &status) != 0) {
      throw std::system_error(errno, std::generic_category(), "cannot examine");
    }
    if (S_ISDIR(status.st_mode)) Fail("is a directory, expected an audio file");
    const bool is_pipe = !S_ISREG(status.st_mode);
    is_live_ = is_live_ || is_pipe;
    // A file may be redirected to standard input from somewhere other than its beginning.
    const off_t begin = is_pipe ? 0 : ::lseek(input.get(), 0, SEEK_CUR);

    const WavHeader header = ReadWavHeader(input.get());
    if (header.bytes.empty()) Fail("is empty, expected audio");
    if (header.complete) {
      std::optional<uint64_t> rest;
      if (!is_pipe) {
        const off_t data = begin + static_cast<off_t>(header.bytes.size());
        rest = static_cast<uint64_t>(std::max<off_t>(status.st_size - data, 0));
      }
      OpenWav(std::move(input), header, rest);
      return;
    }
    if (is_pipe) {
      std::string bytes = header.bytes;
      if (!MayBeMedia(bytes) && !MayBeAudio(bytes) && !MayBeMpegAudio(input.get(), &bytes)) {
        FailAsNoAudio("Format not recognised");
      }
      descriptor_ = SpoolToTemporaryFile(bytes, input.get(), max_spool_bytes_);
    } else {
      ::lseek(input.get(), begin, SEEK_SET);
      descriptor_ = std::move(input);
    }
    first_ = SkipTags(descriptor_.get(), ::lseek(descriptor_.get(), 0, SEEK_CUR));
    if (IsSampleDump(descriptor_.get(), first_)) {
      Fail(std::string("is a MIDI sample dump, expected ") + kAllFormats);
    }
    container_ = FileContainer(descriptor_.get(), first_);
    if (container_ == nullptr && !choice_.is_strict) SkipJunk();
    if (container_ != nullptr && !container_->is_for_libsndfile && container_->demuxer == nullptr) {
      Fail(std::string("is ") + container_->name + ", expected a whole recording");
    }
    if (!IsForSndfile(header)) return OpenMedia("wav");
    if (container_ != nullptr && !container_->is_for_libsndfile && container_->demuxer != nullptr) {
      return OpenMedia(container_->demuxer);
    }
    if (only_common_formats_ && (container_ == nullptr || !container_->is_for_libsndfile)) {
      Fail(std::string("is in a format that is not accepted here, expected ") + kCommonFormats);
    }
    OpenDescriptor();
    if (container_ != nullptr) FindAnnouncedSamples();
  }

  // Reads on from a pipe, up to where frames of MPEG audio would have begun.
  bool MayBeMpegAudio(int pipe, std::string* bytes) const {
    if (choice_.is_strict) return false;
    const size_t size = bytes->size();
    bytes->resize(std::max(size, kJunkSearchBytes));
    bytes->resize(size + ReadFully(pipe, bytes->data() + size, bytes->size() - size));
    return TagBytes(*bytes) > 0 || FindMpegAudio(*bytes).has_value();
  }

  // Before the first frame of MPEG audio.
  void SkipJunk() {
    const std::string begin = ReadAt(descriptor_.get(), first_, kJunkSearchBytes);
    if (MayBeAudio(begin.substr(0, kRecordingHeadBytes))) return;
    const std::optional<size_t> at = FindMpegAudio(begin);
    if (!at.has_value()) return;
    warnings_.push_back("is damaged: skipped " + std::to_string(*at) + " bytes at byte " +
                        std::to_string(first_) + " (after 0.00 s)");
    first_ += static_cast<off_t>(*at);
    container_ = FileContainer(descriptor_.get(), first_);
  }

  // All samples have as many bytes, those of a codec on average.
  void FindAnnouncedSamples() {
    const std::optional<DataSize> size = ReadDataSize(*container_, descriptor_.get(), first_);
    if (!size.has_value() || size->present == 0 || size->present == size->announced) return;
    if (frame_bytes() > 0) {
      announced_samples_ = static_cast<int64_t>(size->announced) / frame_bytes();
      return;
    }
    const double whole = static_cast<double>(size->announced) / static_cast<double>(size->present);
    announced_samples_ = static_cast<int64_t>(whole * static_cast<double>(info_.frames));
  }

  void OpenDescriptor() {
    sndfile_file_ = std::make_unique<SndfileFile>(descriptor_.get(), first_);
    try {
      auto lock = LockSndfileErrors();
      SNDFILE* const file = sndfile_file_->Open(&info_);
      const bool is_for_media = file == nullptr && container_ != nullptr &&
                                container_->demuxer != nullptr &&
                                sf_error(nullptr) == SF_ERR_UNSUPPORTED_ENCODING;
      if (is_for_media) {
        lock.unlock();
        return OpenMedia(container_->demuxer);
      }
      SetFile(file);
    } catch (const std::runtime_error&) {
      if (container_ != nullptr) CheckForOthers();
      throw;
    }
  }

  // `demuxer`: FFmpeg's name of the container.
  void OpenMedia(const char* demuxer) {
    ::lseek(descriptor_.get(), first_, SEEK_SET);
    length_known_ = false;
    try {
      media_ = MediaProcess::OfFile(descriptor_.get(), demuxer, choice_);
      media_->ReadFormat();
    } catch (const std::runtime_error& error) {
      CheckForOthers();
      FailAsMedia(error.what());
    }
    info_.samplerate = media_->format().rate_hz;
    info_.channels = media_->format().channels;
  }

  // `rest`: the bytes of a file behind its header; nothing for a pipe. Files take the way of pipes
  // too, so that the same bytes give the same samples: libsndfile by itself would take the last of
  // several data chunks.
  void OpenWav(FileDescriptor input, const WavHeader& header, std::optional<uint64_t> rest) {
    std::optional<uint64_t> size = WavDataSize(header, /*is_pipe=*/!rest.has_value());
    if (rest.has_value()) size = std::min(size.value_or(*rest), *rest);
    length_known_ = size.has_value();
    wav_stream_ = std::make_unique<WavStream>(std::move(input), header, size);
    std::unique_lock<std::mutex> lock;
    if (rest.has_value()) lock = LockSndfileErrors();
    SetFile(wav_stream_->Open(&info_));
    // In a file, too, 2 GiB or more may be what its writer put because it did not know.
    const std::optional<uint64_t> announced = WavDataSize(header, /*is_pipe=*/true);
    if (announced.has_value() && frame_bytes() > 0) {
      announced_samples_ = static_cast<int64_t>(*announced) / frame_bytes();
    }
  }

  void SetFile(SNDFILE* file) {
    file_.reset(file);
    RethrowReadError();
    if (file == nullptr) {
      if (container_ != nullptr && sf_error(nullptr) == SF_ERR_UNSUPPORTED_ENCODING) {
        Fail(std::string("is ") + container_->name +
             " in an encoding that libsndfile does not read, expected PCM, float, A-law or mu-law "
             "(of ALAC: MP4)");
      }
      FailAsNoAudio(Reason(sf_strerror(nullptr)));
    }
    // libsndfile's way of saying that it does not know.
    if (info_.frames == std::numeric_limits<sf_count_t>::max()) length_known_ = false;
  }

  void RethrowReadError() const {
    if (wav_stream_ != nullptr) wav_stream_->RethrowReadError();
    if (sndfile_file_ != nullptr) sndfile_file_->RethrowReadError();
  }

  bool HasType(int type) const { return (info_.format & SF_FORMAT_TYPEMASK) == type; }

  size_t ReadMono(float* samples, size_t max_samples) {
    if (media_ != nullptr) return ReadMedia(samples, max_samples);
    return info_.channels == 1 ? ReadFrames(samples, max_samples) : ReadMixed(samples, max_samples);
  }

  size_t ReadMedia(float* samples, size_t max_samples) {
    try {
      const size_t count = media_->Read(samples, max_samples);
      if (count == 0 && media_->missing_samples() > 0) {
        announced_samples_ = samples_read_ + media_->missing_samples();
      }
      return count;
    } catch (const std::runtime_error& error) {
      FailAsMedia(error.what());
    }
  }

  // What is wrong with a recording that another one follows is that one.
  size_t ReadOrExplain(float* samples, size_t max_samples) {
    try {
      const size_t count = ReadMono(samples, max_samples);
      CheckRange(samples, count);
      return count;
    } catch (const std::runtime_error&) {
      CheckForOthers();
      throw;
    }
  }

  // The recording that was read must not pass for all of the input.
  void CheckEnd() {
    if (is_end_checked_) return;
    is_end_checked_ = true;
    try {
      CheckForOthers();
      if (wav_stream_ != nullptr) {
        Refuse(WhatFollowsWav(wav_stream_->ReadEnd()), samples_read_);
      } else if (container_ != nullptr) {
        Refuse(WhatFollowsSamples(*container_, descriptor_.get(), first_), samples_read_);
      }
    } catch (const std::system_error& error) {
      Fail(error.what());
    }
  }

  // In a file. WavStream looks at each byte that it reads.
  void CheckForOthers() const {
    if (descriptor_.get() < 0) return;
    Refuse(FindOtherRecording(container_, descriptor_.get(), first_),
           MayReadOn() ? 0 : samples_read_);
  }

  // Whether samples_read_ may count samples of a recording that was joined: readers of these go on
  // into it.
  bool MayReadOn() const {
    return container_ == &kMp4 || container_ == &kW64 || container_ == &kNist;
  }

  void CheckForOthersInStream() const {
    if (wav_stream_ == nullptr || wav_stream_->next_recording() == nullptr) return;
    Refuse(AnotherRecording(*wav_stream_->next_recording()),
           wav_stream_->num_bytes_before_next() / std::max<int64_t>(frame_bytes(), 1));
  }

  // `num_samples`: 0 where they are not known. Nothing is said about the samples of a recording
  // that cannot be read at all.
  void Refuse(const std::optional<Follower>& follower, int64_t num_samples) const {
    if (!follower.has_value()) return;
    Fail(follower->what + (num_samples == 0 ? "" : " after sample " + std::to_string(num_samples)) +
         ", expected " + follower->expected);
  }

  // Reads up to `max_frames` times num_channels() interleaved values.
  size_t ReadFrames(float* values, size_t max_frames) {
    // Not beyond the last sample: what stands behind it, such as a tag, is not FLAC's, and its
    // decoder would complain.
    const sf_count_t wanted =
        std::min(static_cast<sf_count_t>(max_frames), info_.frames - samples_read_);
    if (wanted <= 0) return 0;
    const sf_count_t count = sf_readf_float(file_.get(), values, wanted);
    try {
      RethrowReadError();
    } catch (const std::system_error& error) {
      Fail(error.what());
    }
    CheckForOthersInStream();
    if (sf_error(file_.get()) != SF_ERR_NO_ERROR) {
      Fail("is damaged after sample " + std::to_string(samples_read_) + " (" +
           Reason(sf_strerror(file_.get())) + ")");
    }
    if (count <= 0 && HasType(SF_FORMAT_FLAC) && length_known_) {
      Fail("ends after " + std::to_string(samples_read_) + " samples, expected " +
           std::to_string(info_.frames) + ": it is truncated");
    }
    return static_cast<size_t>(std::max<sf_count_t>(count, 0));
  }

  size_t ReadMixed(float* samples, size_t max_samples) {
    const size_t channels = num_channels();
    const size_t count = ReadFrames(block_.data(), std::min(max_samples, block_.size() / channels));
    MixChannels(block_.data(), count, channels, choice_.channel, samples);
    return count;
  }

  void CheckRange(const float* samples, size_t count) const {
    const size_t bad = FindBadSample(samples, count);
    if (bad == count) return;
    Fail(BadSampleMessage(samples_read_ + static_cast<int64_t>(bad), samples[bad]));
  }

  size_t num_channels() const { return static_cast<size_t>(info_.channels); }
  // Of a sample of each channel; 0 for a codec.
  int64_t frame_bytes() const {
    return int64_t{SampleBytes(info_.format)} * std::max(info_.channels, 0);
  }

  // libsndfile's reason as part of a line.
  static std::string Reason(std::string reason) {
    const std::string prefix = "Error : ";
    if (reason.compare(0, prefix.size(), prefix) == 0) reason.erase(0, prefix.size());
    while (!reason.empty() && (reason.back() == '.' || reason.back() == '\n')) reason.pop_back();
    return reason;
  }

  [[noreturn]] void FailAsNoAudio(const std::string& reason) const {
    Fail("cannot be read as audio (" + reason + "), expected " + kAllFormats);
  }

  [[noreturn]] void FailAsMedia(const std::string& what) const {
    Fail(std::string("is ") + container_->name + " and " + what);
  }

  [[noreturn]] void Fail(const std::string& what) const {
    throw std::runtime_error(name_ + ": " + what);
  }

  std::string name_;
  bool is_live_;
  MediaChoice choice_;
  uint64_t max_spool_bytes_;
  bool only_common_formats_;
  SF_INFO info_ = {};
  bool length_known_ = true;
  bool is_end_checked_ = false;
  std::optional<int64_t> announced_samples_;
  std::vector<std::string> warnings_;  // beside those of media_
  int64_t samples_read_ = 0;
  std::vector<float> block_;  // interleaved; only with several channels
  // What file_ reads from, and so outlives it. Of WAV in plain samples, wav_stream_ alone.
  FileDescriptor descriptor_{-1};
  off_t first_ = 0;                       // in descriptor_: of the recording, behind its tags
  const Container* container_ = nullptr;  // of descriptor_; null: one that only libsndfile knows
  std::unique_ptr<WavStream> wav_stream_;
  std::unique_ptr<SndfileFile> sndfile_file_;
  std::unique_ptr<SNDFILE, SndfileCloser> file_;
  // Instead of it, for what libsndfile does not read.
  std::unique_ptr<MediaProcess> media_;
};

AudioReader::AudioReader(const std::string& path, const AudioReaderOptions& options)
    : impl_(std::make_unique<Impl>(
          path == "-" ? "standard input" : path, path == "-",
          [&path] { return path == "-" ? Duplicate(STDIN_FILENO) : OpenForReading(path); },
          options)) {}

AudioReader::AudioReader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

AudioReader AudioReader::FromBytes(std::string_view bytes, const std::string& name,
                                   const AudioReaderOptions& options) {
  return AudioReader(std::make_unique<Impl>(
      name, /*is_live=*/false, [bytes] { return MemoryFile(bytes); }, options));
}

AudioReader::~AudioReader() = default;
AudioReader::AudioReader(AudioReader&&) noexcept = default;
AudioReader& AudioReader::operator=(AudioReader&&) noexcept = default;

const std::string& AudioReader::name() const { return impl_->name(); }

int AudioReader::sample_rate_hz() const { return impl_->info().samplerate; }

int AudioReader::num_channels() const { return impl_->info().channels; }

bool AudioReader::is_live() const { return impl_->is_live(); }

std::optional<int64_t> AudioReader::num_samples() const {
  if (!impl_->length_known()) return std::nullopt;
  return impl_->info().frames;
}

std::optional<int64_t> AudioReader::announced_samples() const { return impl_->announced_samples(); }

std::vector<std::string> AudioReader::warnings() const { return impl_->warnings(); }

size_t AudioReader::Read(float* samples, size_t max_samples) {
  return impl_->Read(samples, max_samples);
}

}  // namespace runnel
