#include "frontend/open_ended_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>

#include "frontend/file_descriptor.h"

namespace runnel {

OpenEndedFile::OpenEndedFile(int fd) : fd_(fd), begin_(::lseek(fd, 0, SEEK_CUR)) {}

SNDFILE* OpenEndedFile::Open(SF_INFO* info) {
  SF_VIRTUAL_IO io = {};
  // Only the decoder of MPEG is to know no end; libsndfile itself looks for a format in a file.
  io.get_filelen = [](void* self) -> sf_count_t {
    struct stat status = {};
    const auto* const file = static_cast<OpenEndedFile*>(self);
    return ::fstat(file->fd_, &status) == 0 ? status.st_size - file->begin_ : -1;
  };
  io.seek = [](sf_count_t offset, int whence, void* self) {
    return static_cast<OpenEndedFile*>(self)->Seek(offset, whence);
  };
  io.read = [](void* buffer, sf_count_t size, void* self) {
    return static_cast<OpenEndedFile*>(self)->Read(static_cast<char*>(buffer), size);
  };
  io.tell = [](void* self) { return static_cast<OpenEndedFile*>(self)->Position(); };
  return sf_open_virtual(&io, SFM_READ, info, this);
}

void OpenEndedFile::RethrowReadError() const {
  if (read_error_ != nullptr) std::rethrow_exception(read_error_);
}

sf_count_t OpenEndedFile::Read(char* buffer, sf_count_t size) {
  try {
    const auto count = static_cast<sf_count_t>(ReadFully(fd_, buffer, static_cast<size_t>(size)));
    if (count < size) is_at_end_ = true;
    return count;
  } catch (...) {
    read_error_ = std::current_exception();
    return 0;
  }
}

sf_count_t OpenEndedFile::Seek(sf_count_t offset, int whence) const {
  if (whence == SEEK_END) return -1;
  if (whence == SEEK_CUR) offset += Position();
  if (offset < 0) return -1;
  return ::lseek(fd_, begin_ + offset, SEEK_SET) - begin_;
}

sf_count_t OpenEndedFile::Position() const { return ::lseek(fd_, 0, SEEK_CUR) - begin_; }

}  // namespace runnel
