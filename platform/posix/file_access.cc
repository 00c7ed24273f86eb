#include "platform/file_access.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "platform/file_descriptor.h"

namespace runnel {
namespace {

std::error_code CheckAccess(const std::string& path, int rights) {
  if (::faccessat(AT_FDCWD, path.c_str(), rights, AT_EACCESS) == 0) return {};
  return {errno, std::generic_category()};
}

}  // namespace

std::FILE* OpenStream(const std::string& path, const char* mode) {
  return std::fopen(path.c_str(), mode);
}

std::error_code CheckFileWritable(const std::string& path) { return CheckAccess(path, W_OK); }

std::error_code CheckFolderWritable(const std::string& path) {
  return CheckAccess(path, W_OK | X_OK);
}

bool IsSeekableDevice(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) return false;
  // Opening a pipe could block.
  if (!S_ISCHR(status.st_mode) && !S_ISBLK(status.st_mode)) return false;
  const FileDescriptor device(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  return device.get() >= 0 && ::lseek(device.get(), 0, SEEK_CUR) >= 0;
}

}  // namespace runnel
