#include "tools/cli/output_check.h"

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

[[noreturn]] void FailToCreate(const std::string& output, int error) {
  throw std::runtime_error(output + ": cannot create: " + std::strerror(error));
}

}  // namespace

void CheckOutputIsNoInput(const std::string& output, const std::vector<std::string>& inputs,
                          const std::string& flag) {
  std::error_code ignored;  // an input that cannot be examined is reported by its reader
  if (!std::filesystem::is_regular_file(output, ignored)) return;
  for (const std::string& input : inputs) {
    if (std::filesystem::equivalent(output, input, ignored)) {
      std::string message = "--" + flag + " is ";
      message.append(output).append(", which is also read (").append(input);
      throw std::invalid_argument(message + "), expected another file");
    }
  }
}

void CheckOutputCanBeWritten(const std::string& output) {
  if (output.empty() || output == "-") return;
  struct stat status = {};
  if (::stat(output.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) FailToCreate(output, EISDIR);
    if (::faccessat(AT_FDCWD, output.c_str(), W_OK, AT_EACCESS) != 0) FailToCreate(output, errno);
    return;
  }
  if (errno != ENOENT) FailToCreate(output, errno);
  if (output.back() == '/') FailToCreate(output, EISDIR);
  // The file does not exist yet, so the folder must be writable.
  const std::filesystem::path parent = std::filesystem::path(output).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) != 0) {
    FailToCreate(output, errno);
  }
}

void CheckOutputCanBeRewritten(const std::string& output) {
  CheckOutputCanBeWritten(output);
  struct stat status = {};
  bool is_seekable = output != "-";
  if (is_seekable && ::stat(output.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    // Only devices are opened; opening a pipe could block.
    const int device = S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)
                           ? ::open(output.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                           : -1;
    is_seekable = device >= 0 && ::lseek(device, 0, SEEK_CUR) >= 0;
    if (device >= 0) ::close(device);
  }
  if (is_seekable) return;
  throw std::runtime_error(
      output +
      ": is a pipe or a terminal, expected a file: the number of rows, which is known last, is "
      "written at its beginning");
}

void CheckOutputCanBeReplaced(const std::string& output) {
  CheckOutputCanBeWritten(output);
  struct stat status = {};
  const bool is_other = ::stat(output.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
  if (output != "-" && !is_other) return;
  throw std::runtime_error(output + ": is not a regular file, expected one, or a new name");
}

}  // namespace runnel
