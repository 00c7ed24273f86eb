#include "runtime/files/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>

namespace runnel {
namespace {

// Calls `use`; a std::system_error becomes "path: what failed: reason".
template <class Function>
auto Named(const std::string& path, const Function& use) {
  try {
    return use();
  } catch (const std::system_error& error) {
    throw std::runtime_error(path + ": " + error.what());
  }
}

// The file that `path` stands for; a link is followed.
std::filesystem::path TargetOf(const std::string& path) {
  std::filesystem::path named = std::filesystem::u8path(path);
  std::error_code error;
  const auto status = std::filesystem::status(named, error);
  if (!std::filesystem::exists(status)) return named;
  if (!std::filesystem::is_regular_file(status)) {
    throw std::runtime_error(path + ": cannot write: not a regular file");
  }
  if (!std::filesystem::is_symlink(named, error)) return named;
  return std::filesystem::canonical(named, error);
}

// Linux may keep 2 MiB of a file in one huge page if one call writes them at a multiple of 2 MiB.
// Programs that map the file then read it faster (docs/large_models.md).
constexpr size_t kBlockBytes = size_t{2} << 20;

void WriteParts(FileDescriptor file, const std::vector<std::string_view>& parts) {
  std::string block;
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const size_t count = std::min(part.size(), kBlockBytes - block.size());
      block += part.substr(0, count);
      part.remove_prefix(count);
      if (block.size() < kBlockBytes) continue;
      WriteFully(file.get(), block, "");
      block.clear();
    }
  }
  WriteFully(file.get(), block, "");
  file.Close("cannot write");
}

}  // namespace

File::File(const std::string& path)
    : path_(path), file_(Named(path, [&] { return OpenForReading(path); })) {
  struct stat status = {};
  if (::fstat(file_.get(), &status) != 0) {
    throw std::runtime_error(path + ": cannot open: " + std::generic_category().message(errno));
  }
  is_pipe_ = !S_ISREG(status.st_mode);
  size_ = is_pipe_ ? 0 : static_cast<uint64_t>(status.st_size);
}

size_t File::Read(char* buffer, size_t count) const {
  return Named(path_, [&] { return ReadSome(file_.get(), buffer, count); });
}

MappedBytes File::Map() const {
  try {
    return MappedBytes::Map(file_.get(), size_);
  } catch (const std::system_error& error) {
    throw std::runtime_error(path_ + ": cannot map: " + error.code().message());
  }
}

void SaveFile(const std::string& path, const std::vector<std::string_view>& parts) {
  const std::filesystem::path target = TargetOf(path);
  std::filesystem::path unfinished = target;
  unfinished += "." + std::to_string(::getpid()) + ".unfinished";
  FileDescriptor file = Named(path, [&] { return OpenForWriting(unfinished.u8string()); });
  std::error_code ignored;
  try {
    WriteParts(std::move(file), parts);
    std::filesystem::rename(unfinished, target);
  } catch (const std::system_error& error) {
    std::filesystem::remove(unfinished, ignored);
    throw std::runtime_error(path + ": cannot write: " + error.code().message());
  }
}

}  // namespace runnel
