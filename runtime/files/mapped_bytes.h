// Bytes that are used where they lie: memory, or a mapped file.
//
// This folder maps and writes files.
#ifndef RUNNEL_RUNTIME_FILES_MAPPED_BYTES_H_
#define RUNNEL_RUNTIME_FILES_MAPPED_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <memory>

namespace runnel {

constexpr size_t kMappedAlignment = 64;  // a cache line

// Rounds `offset` up to where a section of a mapped file may begin.
constexpr uint64_t Aligned(uint64_t offset) {
  return (offset + kMappedAlignment - 1) / kMappedAlignment * kMappedAlignment;
}

// Owns the bytes. Their address is a multiple of kMappedAlignment. Move-only.
class MappedBytes {
 public:
  // `size` zero bytes in memory, at least 1.
  explicit MappedBytes(size_t size);

  // Maps the first `size` bytes of a file, at least 1, shared with other processes and read-only.
  // The descriptor may be closed afterwards. Throws std::system_error.
  static MappedBytes Map(int fd, size_t size);

  const unsigned char* data() const { return bytes_.get(); }
  size_t size() const { return size_; }

  // Only for bytes in memory.
  unsigned char* mutable_data() { return bytes_.get(); }

 private:
  struct Deleter {
    size_t mapped_size = 0;  // 0: memory
    void operator()(unsigned char* bytes) const;
  };
  using Owner = std::unique_ptr<unsigned char, Deleter>;

  MappedBytes(Owner bytes, size_t size);

  Owner bytes_;
  size_t size_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_FILES_MAPPED_BYTES_H_
