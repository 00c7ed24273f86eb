#include "frontend/media/file_descriptor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace runnel {
namespace {

[[noreturn]] void ThrowErrno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// `file` is what an error calls it.
void WriteFully(int fd, const char* bytes, size_t size, const std::string& file) {
  while (size > 0) {
    const ssize_t written = ::write(fd, bytes, size);
    if (written < 0) {
      if (errno == EINTR) continue;
      ThrowErrno("cannot write to " + file);
    }
    bytes += written;
    size -= static_cast<size_t>(written);
  }
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

FileDescriptor OpenForReading(const std::string& path) {
  const int fd = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
                             : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) ThrowErrno("cannot open");
  return FileDescriptor(fd);
}

FileDescriptor MemoryFile(std::string_view bytes) {
  FileDescriptor file(::memfd_create("runnel-audio", MFD_CLOEXEC));
  if (file.get() < 0) ThrowErrno("cannot create a file in memory");
  WriteFully(file.get(), bytes.data(), bytes.size(), "a file in memory");
  if (::lseek(file.get(), 0, SEEK_SET) != 0) ThrowErrno("cannot rewind a file in memory");
  return file;
}

size_t ReadFully(int fd, char* buffer, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t count = ::read(fd, buffer + done, size - done);
    if (count < 0) {
      if (errno == EINTR) continue;
      ThrowErrno("cannot read");
    }
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  return done;
}

std::string ReadAt(int fd, off_t offset, size_t size) {
  std::string bytes(size, '\0');
  size_t done = 0;
  while (done < size) {
    const ssize_t count =
        ::pread(fd, bytes.data() + done, size - done, offset + static_cast<off_t>(done));
    if (count <= 0) break;
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

FileDescriptor SpoolToTemporaryFile(const std::string& start, int fd, uint64_t max_bytes) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) folder = "/tmp";
  std::string name = (folder / "runnel-audio-XXXXXX").string();
  FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.get() < 0) ThrowErrno("cannot create the temporary file " + name);
  ::unlink(name.c_str());

  uint64_t room = max_bytes;
  const auto write = [&](const char* bytes, size_t size) {
    if (size > room) {
      throw std::system_error(EFBIG, std::generic_category(),
                              "goes on after " + std::to_string(max_bytes) +
                                  " bytes, the most of this format that is read from a pipe");
    }
    WriteFully(file.get(), bytes, size, "a temporary file");
    room -= size;
  };
  write(start.data(), start.size());
  std::vector<char> block(1 << 16);
  while (const size_t count = ReadFully(fd, block.data(), block.size())) {
    write(block.data(), count);
  }
  if (::lseek(file.get(), 0, SEEK_SET) != 0) ThrowErrno("cannot rewind a temporary file");
  return file;
}

}  // namespace runnel
