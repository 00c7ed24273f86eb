// The arena: pieces do not overlap, and it stops growing.
#include "encoder/cpu/kernels/scratch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

namespace runnel::kernels {
namespace {

TEST(ScratchTest, PiecesAreApartAndAligned) {
  Scratch outer;
  auto* first = outer.Take<uint8_t>(100);
  std::memset(first, 1, 100);
  for (int round = 0; round < 3; ++round) {
    Scratch inner;
    for (const int64_t size : {1, 63, 64, 65, 3000000}) {
      auto* piece = inner.Take<uint8_t>(size);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % 64, 0U);
      std::memset(piece, 2, static_cast<size_t>(size));
    }
  }
  for (int i = 0; i < 100; ++i) EXPECT_EQ(first[i], 1);
}

TEST(ScratchTest, GrowsToWhatWasNeededAndNoFurther) {
  const auto step = [] {
    Scratch scratch;
    scratch.Take<float>(1 << 20);
    Scratch inner;
    inner.Take<float>(3 << 20);
  };
  step();
  step();  // the blocks of the first have become one
  const size_t bytes = Scratch::ThreadBytes();
  EXPECT_GE(bytes, size_t{4} << 22);
  const void* before = Scratch().Take<float>(1);
  for (int i = 0; i < 100; ++i) step();
  EXPECT_EQ(Scratch::ThreadBytes(), bytes);
  EXPECT_EQ(Scratch().Take<float>(1), before) << "the memory was allocated anew";
}

}  // namespace
}  // namespace runnel::kernels
