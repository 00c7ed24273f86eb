#include "platform/memory.h"

#include <stdlib.h>
#include <sys/mman.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <cerrno>
#include <new>
#include <system_error>

namespace runnel {

void* MapFile(int fd, size_t size) {
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category());
  // Linux then reads the file into its cache in huge pages, where kernel and file system can.
  PreferHugePages(mapped, size);
  return mapped;
}

void UnmapFile(void* begin, size_t size) { ::munmap(begin, size); }

void* TakePages(size_t size) {
  void* pages = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  return pages;
}

void ReturnPages(void* begin, size_t size) { ::munmap(begin, size); }

void PreferHugePages([[maybe_unused]] void* begin, [[maybe_unused]] size_t size) {
#ifdef MADV_HUGEPAGE
  ::madvise(begin, size, MADV_HUGEPAGE);
#endif
}

// The weights of a model file are packed one after the other. Without this, glibc raises the limit
// of blocks that have memory of their own with the first such block; the packed weights then fall
// between the plain ones, and both stay. With a fixed limit, glibc no longer adapts how much free
// memory the heap may end with: the rows of each step would go back to the system and be cleared
// again.
void ReturnLargeBlocks() {
#ifdef __GLIBC__
  constexpr int kLargeBytes = 1 << 20, kFreeBytes = 4 << 20;
  ::mallopt(M_MMAP_THRESHOLD, kLargeBytes);
  ::mallopt(M_TRIM_THRESHOLD, kFreeBytes);
#endif
}

}  // namespace runnel
