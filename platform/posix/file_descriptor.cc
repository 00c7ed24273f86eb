#include "platform/file_descriptor.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace runnel {
namespace {

FileDescriptor Checked(int fd, const std::string& what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return FileDescriptor(fd);
}

FileDescriptor NewMemoryFile() {
#ifdef MFD_CLOEXEC  // not macOS
  return Checked(::memfd_create("runnel-audio", MFD_CLOEXEC), "cannot create a file in memory");
#else
  return TemporaryFile();
#endif
}

}  // namespace

FileDescriptor OpenForReading(const std::string& path) {
  return Checked(::open(path.c_str(), O_RDONLY | O_CLOEXEC), "cannot open");
}

FileDescriptor OpenForWriting(const std::string& path) {
  return Checked(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666),
                 "cannot create");
}

FileDescriptor Duplicate(int fd) {
  return Checked(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "cannot duplicate its descriptor");
}

FileDescriptor TemporaryFile() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error) folder = "/tmp";
  std::string name = (folder / "runnel-audio-XXXXXX").string();
  FileDescriptor file =
      Checked(::mkostemp(name.data(), O_CLOEXEC), "cannot create the temporary file " + name);
  ::unlink(name.c_str());
  return file;
}

FileDescriptor MemoryFile(std::string_view bytes) {
  FileDescriptor file = NewMemoryFile();
  WriteFully(file.get(), bytes, "a file in memory");
  if (::lseek(file.get(), 0, SEEK_SET) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot rewind a file in memory");
  }
  return file;
}

int64_t ReadSomeAt(int fd, char* buffer, size_t size, off_t offset) {
  for (;;) {
    const ssize_t count = ::pread(fd, buffer, size, offset);
    if (count >= 0 || errno != EINTR) return count;
  }
}

}  // namespace runnel
