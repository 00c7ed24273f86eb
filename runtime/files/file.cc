#include "runtime/files/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace runnel {
namespace {

[[noreturn]] void Fail(const std::string& path, const std::string& what, int error) {
  throw std::runtime_error(path + ": " + what + ": " + std::strerror(error));
}

// Returns 0 or the error.
int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

// Closes the file too. Returns 0 or the error.
int WriteParts(int fd, const std::vector<std::string_view>& parts) {
  int error = 0;
  for (size_t i = 0; error == 0 && i < parts.size(); ++i) error = WriteAll(fd, parts[i]);
  if (::close(fd) != 0 && error == 0) error = errno;
  return error;
}

// The file that `path` stands for; a link is followed.
std::string TargetOf(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return path;
  if (!std::filesystem::is_regular_file(status)) {
    throw std::runtime_error(path + ": cannot write: not a regular file");
  }
  if (!std::filesystem::is_symlink(path, error)) return path;
  return std::filesystem::canonical(path, error).string();
}

}  // namespace

File::File(const std::string& path) : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  struct stat status = {};
  if (fd_ < 0) Fail(path, "cannot open", errno);
  if (::fstat(fd_, &status) != 0) {
    const int error = errno;
    ::close(fd_);
    Fail(path, "cannot open", error);
  }
  is_pipe_ = !S_ISREG(status.st_mode);
  size_ = is_pipe_ ? 0 : static_cast<uint64_t>(status.st_size);
}

File::~File() { ::close(fd_); }

size_t File::Read(char* buffer, size_t count) const {
  while (true) {
    const ssize_t read = ::read(fd_, buffer, count);
    if (read >= 0) return static_cast<size_t>(read);
    if (errno != EINTR) Fail(path_, "cannot read", errno);
  }
}

MappedBytes File::Map() const {
  try {
    return MappedBytes::Map(fd_, size_);
  } catch (const std::system_error& error) {
    Fail(path_, "cannot map", error.code().value());
  }
}

void SaveFile(const std::string& path, const std::vector<std::string_view>& parts) {
  const std::string target = TargetOf(path);
  const std::string unfinished = target + "." + std::to_string(::getpid()) + ".unfinished";
  const int fd = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) Fail(path, "cannot create", errno);
  int error = WriteParts(fd, parts);
  if (error == 0 && ::rename(unfinished.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(unfinished.c_str());
  Fail(path, "cannot write", error);
}

}  // namespace runnel
