// Memory that was freed goes back to the operating system.
#include "tools/server/control/memory_return.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <fstream>
#include <memory>
#include <utility>
#include <vector>

namespace runnel::server {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasOwnAllocator = true;
#elif defined(__has_feature)
constexpr bool kHasOwnAllocator =
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kHasOwnAllocator = false;
#endif

// Of this process, in memory.
size_t ResidentBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(MemoryReturn, ReturnsWhatWasFreed) {
  if (kHasOwnAllocator) GTEST_SKIP() << "a sanitizer's allocator returns memory by itself";
  constexpr size_t kBlock = 10000;  // which the allocator takes from its heap
  constexpr size_t kNumBlocks = 20000;
  std::vector<std::unique_ptr<std::vector<char>>> blocks;
  for (size_t i = 0; i < kNumBlocks; ++i) {
    blocks.push_back(std::make_unique<std::vector<char>>(kBlock, 'x'));
  }
  const size_t most = ResidentBytes();
  MemoryReturn memory_return;
  memory_return.Run();
  const std::unique_ptr<std::vector<char>> last = std::move(blocks.back());  // holds the heap's end
  blocks.clear();
  memory_return.Run();
  EXPECT_LT(ResidentBytes() + kBlock * kNumBlocks / 2, most);
}

}  // namespace
}  // namespace runnel::server
