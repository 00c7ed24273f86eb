#include "platform/file_descriptor.h"

#include <fcntl.h>
#include <io.h>
#include <sys/stat.h>
#include <windows.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace runnel {
namespace {

FileDescriptor Checked(int fd, const char* what) {
  if (fd < 0) throw std::system_error(errno, std::generic_category(), what);
  return FileDescriptor(fd);
}

int OpenWide(const std::string& path, int mode) {
  return ::_wopen(std::filesystem::u8path(path).c_str(), mode | _O_BINARY | _O_NOINHERIT,
                  _S_IREAD | _S_IWRITE);
}

[[noreturn]] void ThrowLastError(const char* what) {
  throw std::system_error(static_cast<int>(::GetLastError()), std::system_category(), what);
}

}  // namespace

FileDescriptor OpenForReading(const std::string& path) {
  return Checked(OpenWide(path, _O_RDONLY), "cannot open");
}

FileDescriptor OpenForWriting(const std::string& path) {
  return Checked(OpenWide(path, _O_WRONLY | _O_CREAT | _O_TRUNC), "cannot create");
}

FileDescriptor Duplicate(int fd) {
  FileDescriptor duplicate = Checked(::_dup(fd), "cannot duplicate its descriptor");
  ::_setmode(duplicate.get(), _O_BINARY);
  return duplicate;
}

FileDescriptor TemporaryFile() {
  constexpr char kCannot[] = "cannot create a temporary file";
  wchar_t folder[MAX_PATH + 1];
  wchar_t name[MAX_PATH + 1];
  if (::GetTempPathW(MAX_PATH + 1, folder) == 0 ||
      ::GetTempFileNameW(folder, L"rnl", 0, name) == 0) {
    ThrowLastError(kCannot);
  }
  const HANDLE handle =
      ::CreateFileW(name, GENERIC_READ | GENERIC_WRITE | DELETE, FILE_SHARE_DELETE, nullptr,
                    CREATE_ALWAYS, FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, nullptr);
  if (handle == INVALID_HANDLE_VALUE) ThrowLastError(kCannot);
  return Checked(::_open_osfhandle(reinterpret_cast<intptr_t>(handle), _O_BINARY), kCannot);
}

// The system keeps a temporary file in memory while there is room.
FileDescriptor MemoryFile(std::string_view bytes) {
  FileDescriptor file = TemporaryFile();
  WriteFully(file.get(), bytes, "a temporary file");
  if (::_lseeki64(file.get(), 0, SEEK_SET) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot rewind a temporary file");
  }
  return file;
}

int64_t ReadSomeAt(int fd, char* buffer, size_t size, off_t offset) {
  const auto handle = reinterpret_cast<HANDLE>(::_get_osfhandle(fd));
  const int64_t position = ::_lseeki64(fd, 0, SEEK_CUR);
  OVERLAPPED place = {};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(static_cast<uint64_t>(offset) >> 32);
  DWORD count = 0;
  const bool is_read = ::ReadFile(handle, buffer, static_cast<DWORD>(size), &count, &place) != 0 ||
                       ::GetLastError() == ERROR_HANDLE_EOF;
  // ReadFile has moved the position.
  if (position < 0 || ::_lseeki64(fd, position, SEEK_SET) < 0) return -1;
  if (!is_read) {
    errno = EIO;  // ReadFile does not set it
    return -1;
  }
  return count;
}

}  // namespace runnel
