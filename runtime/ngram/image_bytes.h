// The bytes of an image: memory, or a mapped file.
#ifndef RUNNEL_RUNTIME_NGRAM_IMAGE_BYTES_H_
#define RUNNEL_RUNTIME_NGRAM_IMAGE_BYTES_H_

#include <cstddef>
#include <memory>

namespace runnel {

// Owns the bytes. Their address is a multiple of kSectionAlignment. Move-only.
class ImageBytes {
 public:
  // `size` zero bytes in memory, at least 1.
  explicit ImageBytes(size_t size);

  // Maps the first `size` bytes of a file, at least 1, shared with other processes and read-only.
  // The descriptor may be closed afterwards. Throws std::system_error.
  static ImageBytes Map(int fd, size_t size);

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

  ImageBytes(Owner bytes, size_t size);

  Owner bytes_;
  size_t size_;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_NGRAM_IMAGE_BYTES_H_
