// Float32 rows come back from a ring of float32 as they were, and from one of bfloat16 rounded.
#include "encoder/cpu/cached_rows.h"

#include <gtest/gtest.h>

#include <vector>

namespace runnel::cpu {
namespace {

constexpr int64_t kDim = 5;

TEST(CachedRowsTest, ComeBackInTheDataTypeOfTheRing) {
  std::vector<float> rows;
  for (int i = 0; i < 9 * kDim; ++i) rows.push_back(1.0F + static_cast<float>(i) / 1024);
  for (const DataType type : {DataType::kFloat32, DataType::kBfloat16}) {
    RowRing ring(kDim, type);
    // Every third row; the ring keeps two of the three.
    AppendRows(rows.data(), 3 * kDim, 3, 2, &ring);
    ASSERT_EQ(ring.size(), 2);
    kernels::Scratch scratch;
    std::vector<const float*> pointers(2);
    CollectRows(ring, &scratch, pointers.data());
    for (int64_t i = 0; i < 2; ++i) {
      const float* expected = rows.data() + 3 * kDim * (i + 1);
      for (int64_t k = 0; k < kDim; ++k) {
        if (type == DataType::kFloat32) {
          EXPECT_EQ(pointers[static_cast<size_t>(i)][k], expected[k]);
        } else {
          EXPECT_NEAR(pointers[static_cast<size_t>(i)][k], expected[k], expected[k] / 256);
        }
      }
    }
    EXPECT_EQ(ring.num_bytes(), 2 * kDim * BytesOf(type));
  }
}

}  // namespace
}  // namespace runnel::cpu
