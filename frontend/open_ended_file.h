// Presents a file to libsndfile without telling where it ends. Private to AudioReader.
//
// libsndfile estimates the length of an MPEG file without a Xing header from the size of the file
// and the bit rate of its beginning, and reads no further. With a variable bit rate, the estimate
// may be a fraction of the audio. A file whose end cannot be sought has no estimate.
#ifndef RUNNEL_FRONTEND_OPEN_ENDED_FILE_H_
#define RUNNEL_FRONTEND_OPEN_ENDED_FILE_H_

#include <sndfile.h>

#include <exception>

namespace runnel {

// Neither copyable nor movable, because libsndfile holds its address.
class OpenEndedFile {
 public:
  // `fd` stands at the first byte of the file, can seek and outlives this object.
  explicit OpenEndedFile(int fd);
  OpenEndedFile(const OpenEndedFile&) = delete;
  OpenEndedFile& operator=(const OpenEndedFile&) = delete;

  // Opens it. Returns null, with the reason in sf_strerror(nullptr), if libsndfile refuses.
  SNDFILE* Open(SF_INFO* info);

  // Whether libsndfile has read up to the end.
  bool is_at_end() const { return is_at_end_; }

  // Throws the std::system_error of an earlier read; it could not pass through libsndfile, which is
  // C.
  void RethrowReadError() const;

 private:
  sf_count_t Read(char* buffer, sf_count_t size);
  sf_count_t Seek(sf_count_t offset, int whence) const;
  sf_count_t Position() const;

  const int fd_;
  const sf_count_t begin_;  // in fd_
  bool is_at_end_ = false;
  std::exception_ptr read_error_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_OPEN_ENDED_FILE_H_
