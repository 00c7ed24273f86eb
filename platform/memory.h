// Memory in pages: mapped files, large blocks.
#ifndef RUNNEL_PLATFORM_MEMORY_H_
#define RUNNEL_PLATFORM_MEMORY_H_

#include <cstddef>

namespace runnel {

// The first `size` bytes of a file, at least 1, shared with other processes and read-only. Asks for
// huge pages as PreferHugePages does. The descriptor may be closed afterwards. Throws
// std::system_error.
void* MapFile(int fd, size_t size);
void UnmapFile(void* begin, size_t size);

// `size` zeros in whole pages. Pages that nothing has written to take no memory. Throws
// std::bad_alloc.
void* TakePages(size_t size);
void ReturnPages(void* begin, size_t size);
// Asks for huge pages, which some systems give.
void PreferHugePages(void* begin, size_t size);

// Has large blocks of the heap go back to the system as soon as they are freed. For programs, to be
// called once, at their start.
void ReturnLargeBlocks();

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_MEMORY_H_
