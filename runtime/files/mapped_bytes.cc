#include "runtime/files/mapped_bytes.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>
#include <utility>

namespace runnel {

void MappedBytes::Deleter::operator()(unsigned char* bytes) const {
  if (mapped_size > 0) {
    ::munmap(bytes, mapped_size);
  } else {
    ::operator delete(bytes, std::align_val_t(kMappedAlignment));
  }
}

MappedBytes::MappedBytes(Owner bytes, size_t size) : bytes_(std::move(bytes)), size_(size) {}

MappedBytes::MappedBytes(size_t size)
    : bytes_(static_cast<unsigned char*>(::operator new(size, std::align_val_t(kMappedAlignment))),
             Deleter()),
      size_(size) {
  std::memset(bytes_.get(), 0, size);
}

MappedBytes MappedBytes::Map(int fd, size_t size) {
  void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) throw std::system_error(errno, std::generic_category());
  return MappedBytes(Owner(static_cast<unsigned char*>(mapped), Deleter{size}), size);
}

}  // namespace runnel
