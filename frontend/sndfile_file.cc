#include "frontend/sndfile_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <system_error>

#include "platform/file_descriptor.h"

namespace runnel {

SndfileFile::SndfileFile(int fd, off_t begin) : fd_(fd), begin_(begin) {
  struct stat status = {};
  if (::fstat(fd, &status) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot examine");
  }
  length_ = std::max<sf_count_t>(status.st_size - begin, 0);
}

SNDFILE* SndfileFile::Open(SF_INFO* info) {
  SF_VIRTUAL_IO io = {};
  io.get_filelen = [](void* self) { return static_cast<SndfileFile*>(self)->length_; };
  io.seek = [](sf_count_t offset, int whence, void* self) {
    return static_cast<SndfileFile*>(self)->Seek(offset, whence);
  };
  io.read = [](void* buffer, sf_count_t size, void* self) {
    return static_cast<SndfileFile*>(self)->Read(static_cast<char*>(buffer), size);
  };
  io.tell = [](void* self) { return static_cast<SndfileFile*>(self)->position_; };
  return sf_open_virtual(&io, SFM_READ, info, this);
}

void SndfileFile::RethrowReadError() const {
  if (read_error_ != nullptr) std::rethrow_exception(read_error_);
}

sf_count_t SndfileFile::Read(char* buffer, sf_count_t size) {
  sf_count_t done = 0;
  while (done < size) {
    const int64_t count = ReadSomeAt(fd_, buffer + done, static_cast<size_t>(size - done),
                                     begin_ + static_cast<off_t>(position_));
    if (count < 0) {
      read_error_ =
          std::make_exception_ptr(std::system_error(errno, std::generic_category(), "cannot read"));
    }
    if (count <= 0) break;
    position_ += count;
    done += count;
  }
  return done;
}

sf_count_t SndfileFile::Seek(sf_count_t offset, int whence) {
  sf_count_t from = 0;
  if (whence == SEEK_CUR) from = position_;
  if (whence == SEEK_END) from = length_;
  // A damaged file can name any offset: neither this sum nor that of Read may overflow.
  const sf_count_t most = std::numeric_limits<sf_count_t>::max() - begin_ - from;
  if (offset < -from || offset > most) return -1;
  position_ = from + offset;
  return position_;
}

}  // namespace runnel
