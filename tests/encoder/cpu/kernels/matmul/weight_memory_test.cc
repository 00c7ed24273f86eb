// Memory for weights: zeros, aligned, apart from each other, as large as wanted.
#include "encoder/cpu/kernels/matmul/weight_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace runnel::kernels {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(WeightMemoryTest, PiecesAreAlignedZerosApartFromEachOther) {
  std::vector<std::shared_ptr<uint8_t>> pieces;
  const std::vector<int64_t> sizes = {1,          63,        64,       65, 3 * kMiB,
                                      100 * kMiB, 31 * kMiB, 2 * kMiB, 0,  7};
  for (size_t i = 0; i < sizes.size(); ++i) {
    pieces.push_back(TakeWeightMemory(sizes[i]));
    uint8_t* bytes = pieces.back().get();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes) % 64, 0U);
    EXPECT_TRUE(std::all_of(bytes, bytes + sizes[i], [](uint8_t byte) { return byte == 0; }));
    std::fill(bytes, bytes + sizes[i], static_cast<uint8_t>(i + 1));
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    const uint8_t* bytes = pieces[i].get();
    EXPECT_TRUE(std::all_of(bytes, bytes + sizes[i], [i](uint8_t byte) { return byte == i + 1; }));
  }
}

TEST(WeightMemoryTest, APieceOutlivesTheOthersOfItsBlock) {
  std::shared_ptr<uint8_t> first = TakeWeightMemory(kMiB);
  const std::shared_ptr<uint8_t> second = TakeWeightMemory(kMiB);
  std::fill(second.get(), second.get() + kMiB, uint8_t{9});
  first.reset();
  EXPECT_TRUE(
      std::all_of(second.get(), second.get() + kMiB, [](uint8_t byte) { return byte == 9; }));
}

TEST(WeightMemoryTest, ThreadsTakePiecesAtOnce) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int64_t size = 1; size < 2 * kMiB; size *= 3) {
        const std::shared_ptr<uint8_t> piece = TakeWeightMemory(size);
        piece.get()[size - 1] = 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace runnel::kernels
