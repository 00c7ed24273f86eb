#include "platform/file_access.h"

#include <io.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

namespace runnel {

std::FILE* OpenStream(const std::string& path, const char* mode) {
  const std::wstring wide_mode(mode, mode + std::strlen(mode));
  return ::_wfopen(std::filesystem::u8path(path).c_str(), (wide_mode + L"b").c_str());
}

std::error_code CheckFileWritable(const std::string& path) {
  constexpr int kWrite = 2;
  if (::_waccess(std::filesystem::u8path(path).c_str(), kWrite) == 0) return {};
  return {errno, std::generic_category()};
}

std::error_code CheckFolderWritable(const std::string& /*path*/) { return {}; }

bool IsSeekableDevice(const std::string& /*path*/) { return false; }

}  // namespace runnel
