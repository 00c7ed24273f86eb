// WAV read from front to back, without seeking: part of AudioReader, not meant for callers outside
// the frontend. libsndfile wants to know a file's length and to look behind its samples; neither is
// possible while a recorder is still writing into a pipe, and a header written before the recording
// often promises no or absurdly many samples. Files are read the same way, so that what stands
// behind their samples, such as a second data chunk, changes nothing.

#ifndef RUNNEL_FRONTEND_WAV_STREAM_H_
#define RUNNEL_FRONTEND_WAV_STREAM_H_

#include <sndfile.h>

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "frontend/file_descriptor.h"

namespace runnel {

// What stands before the samples of a WAV file.
struct WavHeader {
  std::string bytes;   // everything that was read from the input, 12 bytes unless it has fewer
  std::string format;  // body of the "fmt " chunk
  std::uint32_t riff_size = 0;
  std::uint32_t data_size = 0;  // as the header has it; see WavDataSize
  bool complete = false;        // the input now stands at the first sample
};

// Reads from `fd` as far as the first sample. The result is not `complete` if the input is not WAV
// ("RIFF", little-endian) with one of the uncompressed or companded formats, if it ends early, or
// if more than 16 MiB precede the samples. Throws std::system_error if reading fails.
WavHeader ReadWavHeader(int fd);

// The number of bytes of samples, or nothing if the header leaves it open: then they go on to the
// end of the input. Writers that cannot go back to correct the header put 0, or all bits set, or
// (in a pipe: `is_pipe`) about 2 GiB.
std::optional<std::uint64_t> WavDataSize(const WavHeader& header, bool is_pipe);

// Shows the samples behind a complete header to libsndfile as a file of known length that can be
// searched: an RF64 header, made up here, whose 64-bit sizes have room for any stream.
// Neither copyable nor movable, since libsndfile holds its address.
class WavStream {
 public:
  // `fd` stands at the first sample; it is read only when libsndfile asks for samples.
  WavStream(FileDescriptor fd, const WavHeader& header, std::optional<std::uint64_t> data_size);
  WavStream(const WavStream&) = delete;
  WavStream& operator=(const WavStream&) = delete;

  // Opens it. Returns null, with the reason in sf_strerror(nullptr), if libsndfile refuses.
  SNDFILE* Open(SF_INFO* info);

  // Throws the std::system_error of an earlier read, which could not pass through libsndfile.
  void RethrowReadError() const;

 private:
  sf_count_t Read(char* buffer, sf_count_t size);
  sf_count_t Seek(sf_count_t offset, int whence);

  FileDescriptor fd_;
  // The made-up header and, while libsndfile opens the file and may still step back, what it read
  // of the samples.
  std::string start_;
  sf_count_t length_;          // of the file shown
  sf_count_t position_ = 0;    // in the file shown, where libsndfile believes itself to be
  sf_count_t input_position_;  // in the file shown, where fd_ stands
  bool opening_ = true;
  std::exception_ptr read_error_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_WAV_STREAM_H_
