#include "encoder/cpu/kernels/matmul/weight_memory.h"

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "platform/memory.h"

namespace runnel::kernels {
namespace {

constexpr size_t kLineBytes = 64;
#ifdef __EMSCRIPTEN__  // where every page takes memory
constexpr size_t kHugePageBytes = size_t{64} << 10;
#else
constexpr size_t kHugePageBytes = size_t{2} << 20;
#endif
constexpr size_t kBlockBytes = 16 * kHugePageBytes;

constexpr size_t RoundedUp(size_t size, size_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// Pages that nothing has written to take no memory.
class Block {
 public:
  explicit Block(size_t size)
      : size_(RoundedUp(size, kHugePageBytes)),
        mapped_bytes_(size_ + kHugePageBytes),
        mapped_(TakePages(mapped_bytes_)) {
    const auto address = reinterpret_cast<uintptr_t>(mapped_);
    begin_ = static_cast<uint8_t*>(mapped_) + (RoundedUp(address, kHugePageBytes) - address);
    PreferHugePages(begin_, size_);
  }
  ~Block() { ReturnPages(mapped_, mapped_bytes_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;

  // Null if the rest of the block is smaller.
  uint8_t* Take(size_t size) {
    if (size > size_ - num_taken_) return nullptr;
    uint8_t* piece = begin_ + num_taken_;
    num_taken_ += RoundedUp(size, kLineBytes);
    return piece;
  }

 private:
  size_t size_;
  size_t mapped_bytes_;
  void* mapped_;
  uint8_t* begin_;
  size_t num_taken_ = 0;
};

}  // namespace

std::shared_ptr<uint8_t> TakeWeightMemory(int64_t num_bytes) {
  // Never destroyed: a thread may load a model while the process ends.
  static std::mutex& mutex = *new std::mutex;
  static std::weak_ptr<Block>& newest = *new std::weak_ptr<Block>;
  const auto size = static_cast<size_t>(num_bytes);
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<Block> block = newest.lock();
  uint8_t* piece = block == nullptr ? nullptr : block->Take(size);
  if (piece == nullptr) {
    block = std::make_shared<Block>(std::max(size, kBlockBytes));
    newest = block;
    piece = block->Take(size);
  }
  return {block, piece};
}

}  // namespace runnel::kernels
