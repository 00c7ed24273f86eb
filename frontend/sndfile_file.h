// Presents a file to libsndfile. Private to AudioReader.
#ifndef RUNNEL_FRONTEND_SNDFILE_FILE_H_
#define RUNNEL_FRONTEND_SNDFILE_FILE_H_

#include <sndfile.h>
#include <sys/types.h>

#include <exception>

namespace runnel {

// libsndfile could open a descriptor itself (sf_open_fd). But version 1.2.0 closes one that it
// cannot open as audio, also where it is told not to, and on Windows it closes the handle behind
// it. The position of the descriptor is neither used nor moved. Neither copyable nor movable,
// because libsndfile holds its address.
class SndfileFile {
 public:
  // The file begins at `begin` of a file that can seek.
  SndfileFile(int fd, off_t begin);
  SndfileFile(const SndfileFile&) = delete;
  SndfileFile& operator=(const SndfileFile&) = delete;

  // Opens it. Returns null, with the reason in sf_strerror(nullptr), if libsndfile refuses.
  SNDFILE* Open(SF_INFO* info);

  // Throws the std::system_error of an earlier read; it could not pass through libsndfile, which is
  // C.
  void RethrowReadError() const;

 private:
  sf_count_t Read(char* buffer, sf_count_t size);
  sf_count_t Seek(sf_count_t offset, int whence);

  const int fd_;
  const off_t begin_;
  sf_count_t length_ = 0;
  sf_count_t position_ = 0;
  std::exception_ptr read_error_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_SNDFILE_FILE_H_
