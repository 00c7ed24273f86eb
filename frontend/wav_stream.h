// Reads WAV from front to back, without seeking. Private to AudioReader.
//
// libsndfile needs a file's length and reads the chunks after its samples. Neither is possible
// while a recorder still writes into a pipe, and the header of a recording in progress often
// announces no samples or far too many. Files are read the same way.
#ifndef RUNNEL_FRONTEND_WAV_STREAM_H_
#define RUNNEL_FRONTEND_WAV_STREAM_H_

#include <sndfile.h>
#include <sys/types.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "frontend/media/container.h"
#include "frontend/media/recording_scanner.h"
#include "frontend/media/wav_chunks.h"
#include "platform/file_descriptor.h"

namespace runnel {

// The part of a WAV file before its samples.
struct WavHeader {
  std::string bytes;       // all bytes read from the input so far
  std::string format;      // body of the "fmt " chunk
  uint32_t data_size = 0;  // as in the header; see WavDataSize
  std::string ahead;       // with a data_size of 0: up to 8 bytes read behind it
  bool complete = false;   // the input now stands at the first sample, or behind `ahead`
};

// Reads from `fd` as far as the first sample. The result is not `complete` if the input is not WAV
// ("RIFF", little-endian) with one of the uncompressed or companded formats, if it ends early, or
// if more than 16 MiB precede the samples. Throws std::system_error if reading fails.
WavHeader ReadWavHeader(int fd);

// Whether libsndfile reads the format of the samples, or says what is wrong with it.
bool IsForSndfile(const WavHeader& header);

// The number of bytes of samples. No value if the header leaves it open, and the samples go on to
// the end of the input: writers that cannot go back to correct the header put 0, or all bits set,
// or (in a pipe: `is_pipe`) about 2 GiB.
std::optional<uint64_t> WavDataSize(const WavHeader& header, bool is_pipe);

// What stands behind the samples of a WAV file.
struct WavEnd {
  WavTail::Found found = WavTail::Found::kNothing;
  const Container* recording = nullptr;  // with kRecording
  std::optional<uint64_t> num_bytes;     // from what was found to the end, where it is known
};

// Reads what stands behind the samples of a WAV file (RIFF or RF64) of any encoding, which begins
// at `begin` of the file `fd`. Keeps the position of `fd`. Throws like ReadWavHeader.
WavEnd ReadWavEnd(int fd, off_t begin);

// The bytes of the samples of such a file.
struct DataSize {
  uint64_t announced = 0;
  uint64_t present = 0;  // fewer: it was cut off
};

// No value if the header leaves the size open, as WavDataSize in a pipe. Does not move the position
// of `fd`.
std::optional<DataSize> ReadWavDataSize(int fd, off_t begin);

// Presents the samples after a complete header to libsndfile as a file of known length that can
// seek: with an RF64 header made here, whose 64-bit sizes have room for any stream. Neither
// copyable nor movable, because libsndfile holds its address.
class WavStream {
 public:
  // `fd` stands where the reading of the header has ended; it is read only when libsndfile asks for
  // samples.
  WavStream(FileDescriptor fd, const WavHeader& header, std::optional<uint64_t> data_size);
  WavStream(const WavStream&) = delete;
  WavStream& operator=(const WavStream&) = delete;

  // Opens it. Returns null, with the reason in sf_strerror(nullptr), if libsndfile refuses.
  SNDFILE* Open(SF_INFO* info);

  // Another recording among the samples, as where the first one has no length or is cut off; null:
  // none so far.
  const Container* next_recording() const { return scanner_.found(); }
  int64_t num_bytes_before_next() const;  // of samples

  // After the samples were read: reads the input to its end. Throws like ReadWavHeader.
  WavEnd ReadEnd();

  // Throws the std::system_error of an earlier read; it could not pass through libsndfile, which is
  // C.
  void RethrowReadError() const;

 private:
  sf_count_t Read(char* buffer, sf_count_t size);
  sf_count_t Seek(sf_count_t offset, int whence);

  FileDescriptor fd_;
  const std::optional<uint64_t> data_size_;
  const std::string ahead_;
  const uint64_t data_at_;  // in the input
  RecordingScanner scanner_{&kWav};
  // The header made here and, while libsndfile opens the file and may still step back, the samples
  // that it has read.
  std::string start_;
  sf_count_t begin_of_data_;   // in the presented file
  sf_count_t length_;          // of the presented file
  sf_count_t position_ = 0;    // of libsndfile, in the presented file
  sf_count_t input_position_;  // of fd_, in the presented file
  bool opening_ = true;
  std::exception_ptr read_error_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_WAV_STREAM_H_
