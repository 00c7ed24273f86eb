#include "tools/media_decoder/input.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "frontend/media/tags.h"
#include "platform/file_descriptor.h"

namespace runnel::media_decoder {
namespace {

int64_t SizeOf(int file) {
  struct stat status = {};
  return ::fstat(file, &status) == 0 ? status.st_size : 0;
}

}  // namespace

FileInput::FileInput(int file)
    : file_(file), begin_(::lseek(file, 0, SEEK_CUR)), size_(SizeOf(file) - begin_) {}

void FileInput::LeaveOutTags() {
  const auto read = [this](uint64_t offset, size_t size) {
    return ReadAt(file_, begin_ + static_cast<off_t>(offset), size);
  };
  size_ = static_cast<int64_t>(TagsAtEnd(static_cast<uint64_t>(std::max<int64_t>(size_, 0)), read));
}

ssize_t FileInput::Read(uint8_t* bytes, size_t size) {
  size = std::min(size, static_cast<size_t>(std::max<int64_t>(size_ - position_, 0)));
  ssize_t count = 0;
  do {
    count = ::pread(file_, bytes, size, begin_ + position_);
  } while (count < 0 && errno == EINTR);
  if (count > 0) position_ += count;
  return count;
}

void RequestInput::Receive(void* bytes, size_t size) {
  auto* to = static_cast<char*>(bytes);
  while (size > 0) {
    const ssize_t count = ::recv(socket_, to, size, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) ::_exit(EXIT_FAILURE);
    to += count;
    size -= static_cast<size_t>(count);
  }
}

// A request is read as a whole, so that whoever sends it never waits while this process writes.
ssize_t RequestInput::Read(uint8_t* bytes, size_t size) {
  if (num_read_ == request_.size()) {
    if (has_ended_) return 0;
    replies_.WriteHungry();
    uint32_t request_size = 0;
    Receive(&request_size, sizeof(request_size));
    if (request_size > kMaxMediaRequestBytes) ::_exit(EXIT_FAILURE);
    request_.resize(request_size);
    Receive(request_.data(), request_.size());
    num_read_ = 0;
    has_ended_ = request_size == 0;
    if (has_ended_) return 0;
  }
  const size_t count = std::min(size, request_.size() - num_read_);
  std::memcpy(bytes, request_.data() + num_read_, count);
  num_read_ += count;
  position_ += static_cast<int64_t>(count);
  return static_cast<ssize_t>(count);
}

}  // namespace runnel::media_decoder
