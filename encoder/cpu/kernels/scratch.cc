#include "encoder/cpu/kernels/scratch.h"

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "platform/per_thread.h"

namespace runnel::kernels {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kMinBlockBytes = size_t{1} << 20;

struct AlignedDelete {
  void operator()(std::byte* memory) const {
    ::operator delete(memory, std::align_val_t(kAlignment));
  }
};

struct ScratchBlock {
  explicit ScratchBlock(size_t block_size)
      : size(block_size),
        memory(static_cast<std::byte*>(::operator new(size, std::align_val_t(kAlignment)))) {}

  size_t size;
  std::unique_ptr<std::byte, AlignedDelete> memory;
};

}  // namespace

// A list of blocks, filled one after the other. Blocks never move while pieces of them are in use;
// once nothing is, several become one.
class Scratch::Arena {
 public:
  void* Take(size_t size) {
    size = (size + kAlignment - 1) / kAlignment * kAlignment;
    while (block < blocks_.size() && offset + size > blocks_[block].size) {
      ++block;
      offset = 0;
    }
    if (block == blocks_.size()) {
      blocks_.emplace_back(std::max({size, num_bytes(), wanted_, kMinBlockBytes}));
    }
    std::byte* piece = blocks_[block].memory.get() + offset;
    offset += size;
    return piece;
  }

  void Return(size_t to_block, size_t to_offset) {
    block = to_block;
    offset = to_offset;
    if (block == 0 && offset == 0 && blocks_.size() > 1) {
      wanted_ = num_bytes();
      blocks_.clear();  // the next piece makes one of that size
    }
  }

  size_t num_bytes() const {
    size_t sum = 0;
    for (const ScratchBlock& one : blocks_) sum += one.size;
    return sum;
  }

  size_t block = 0;
  size_t offset = 0;

 private:
  std::vector<ScratchBlock> blocks_;
  size_t wanted_ = 0;  // bytes that were in use at once
};

Scratch::Arena& Scratch::OfThread() { return PerThread<Arena>(); }

Scratch::Scratch() : arena_(OfThread()), block_(arena_.block), offset_(arena_.offset) {}

Scratch::~Scratch() { arena_.Return(block_, offset_); }

void* Scratch::TakeBytes(size_t size) { return arena_.Take(size); }

size_t Scratch::ThreadBytes() { return OfThread().num_bytes(); }

}  // namespace runnel::kernels
