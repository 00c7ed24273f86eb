#include "platform/memory.h"

#include <io.h>
#include <windows.h>

#include <new>
#include <system_error>

namespace runnel {
namespace {

[[noreturn]] void ThrowLastError() {
  throw std::system_error(static_cast<int>(::GetLastError()), std::system_category());
}

}  // namespace

void* MapFile(int fd, size_t size) {
  const auto file = reinterpret_cast<HANDLE>(::_get_osfhandle(fd));
  const HANDLE mapping = ::CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (mapping == nullptr) ThrowLastError();
  void* mapped = ::MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, size);
  const DWORD error = ::GetLastError();
  ::CloseHandle(mapping);  // the view keeps it
  if (mapped == nullptr) {
    throw std::system_error(static_cast<int>(error), std::system_category());
  }
  return mapped;
}

void UnmapFile(void* begin, size_t /*size*/) { ::UnmapViewOfFile(begin); }

void* TakePages(size_t size) {
  void* pages = ::VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
  if (pages == nullptr) throw std::bad_alloc();
  return pages;
}

void ReturnPages(void* begin, size_t /*size*/) { ::VirtualFree(begin, 0, MEM_RELEASE); }

// They need a privilege that users do not have.
void PreferHugePages(void* /*begin*/, size_t /*size*/) {}

// The heap does so by itself.
void ReturnLargeBlocks() {}

}  // namespace runnel
