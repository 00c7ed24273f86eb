#include "platform/file_descriptor.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>
#include <vector>

namespace runnel {
namespace {

// Some systems count the bytes of a call in 31 bits.
constexpr size_t kMaxBytesAtOnce = size_t{1} << 30;

[[noreturn]] void ThrowErrno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

void Rewind(int fd) {
  if (::lseek(fd, 0, SEEK_SET) != 0) ThrowErrno("cannot rewind a temporary file");
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

FileDescriptor::FileDescriptor(FileDescriptor&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)) {}

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

void FileDescriptor::Close(const char* what) {
  if (::close(std::exchange(fd_, -1)) != 0) ThrowErrno(what);
}

size_t ReadSome(int fd, char* buffer, size_t size) {
  for (;;) {
    const auto count = ::read(fd, buffer, std::min(size, kMaxBytesAtOnce));
    if (count >= 0) return static_cast<size_t>(count);
    if (errno != EINTR) ThrowErrno("cannot read");
  }
}

size_t ReadFully(int fd, char* buffer, size_t size) {
  size_t done = 0;
  while (done < size) {
    const size_t count = ReadSome(fd, buffer + done, size - done);
    if (count == 0) break;
    done += count;
  }
  return done;
}

std::string ReadAt(int fd, off_t offset, size_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const int64_t count =
        ReadSomeAt(fd, bytes.data() + done, std::min(size - done, kMaxBytesAtOnce),
                   offset + static_cast<off_t>(done));
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

void WriteFully(int fd, std::string_view bytes, const std::string& file) {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), std::min(bytes.size(), kMaxBytesAtOnce));
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      ThrowErrno("cannot write" + (file.empty() ? "" : " to " + file));
    }
  }
}

FileDescriptor SpoolToTemporaryFile(const std::string& start, int fd, uint64_t max_bytes) {
  FileDescriptor file = TemporaryFile();
  uint64_t room = max_bytes;
  const auto write = [&](const char* bytes, size_t size) {
    if (size > room) {
      throw std::system_error(EFBIG, std::generic_category(),
                              "goes on after " + std::to_string(max_bytes) +
                                  " bytes, the most of this format that is read from a pipe");
    }
    WriteFully(file.get(), {bytes, size}, "a temporary file");
    room -= size;
  };
  write(start.data(), start.size());
  std::vector<char> block(1 << 16);
  while (const size_t count = ReadFully(fd, block.data(), block.size())) {
    write(block.data(), count);
  }
  Rewind(file.get());
  return file;
}

}  // namespace runnel
