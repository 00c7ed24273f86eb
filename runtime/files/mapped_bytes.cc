#include "runtime/files/mapped_bytes.h"

#include <cstring>
#include <new>
#include <utility>

#include "platform/memory.h"

namespace runnel {

void MappedBytes::Deleter::operator()(unsigned char* bytes) const {
  if (mapped_size > 0) {
    UnmapFile(bytes, mapped_size);
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
  return MappedBytes(Owner(static_cast<unsigned char*>(MapFile(fd, size)), Deleter{size}), size);
}

}  // namespace runnel
