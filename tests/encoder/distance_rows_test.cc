// The table of distances grows, keeps its values, and does not grow for one huge utterance.
#include "encoder/fast/distance_rows.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>
#include <vector>

namespace runnel {
namespace {

// Row of distance r: (r, r).
at::Tensor Rows(int64_t first, int64_t last) {
  return at::arange(first, last - 1, -1, at::kFloat).unsqueeze(1).expand({-1, 2});
}

void ExpectCovers(const DistanceRows& rows, int64_t first, int64_t last) {
  at::Tensor kept;
  const kernels::DistanceTable table = rows.Covering(first, last, &kept);
  ASSERT_GE(table.first, first);
  ASSERT_LE(table.first - (table.num_rows - 1), last);
  for (const int64_t distance : {first, (first + last) / 2, last}) {
    EXPECT_EQ(table.rows[2 * (table.first - distance)], static_cast<float>(distance));
  }
}

TEST(DistanceRowsTest, CoversWhatIsAskedFor) {
  std::atomic<int> computed{0};
  const DistanceRows rows(
      [&](int64_t first, int64_t last) {
        ++computed;
        return Rows(first, last);
      },
      std::numeric_limits<int64_t>::max());
  // A left context that grows by a chunk each time: few refills.
  for (int64_t past = 15; past < 16000; past += 16) ExpectCovers(rows, past, -15);
  EXPECT_LE(computed.load(), 15);
  ExpectCovers(rows, 10, -40);
  ExpectCovers(rows, 16000, -40);
  const int before = computed;
  ExpectCovers(rows, 12000, -40);
  EXPECT_EQ(computed.load(), before);
  // Beyond the bound it is computed each time and not kept.
  ExpectCovers(rows, 40000, -15);
  ExpectCovers(rows, 40000, -15);
  EXPECT_EQ(computed.load(), before + 2);
}

TEST(DistanceRowsTest, StaysWithinTheLargestDistance) {
  const DistanceRows rows(&Rows, 7);
  at::Tensor kept;
  const kernels::DistanceTable table = rows.Covering(100, -100, &kept);
  EXPECT_EQ(table.first, 7);
  EXPECT_EQ(table.num_rows, 15);
}

TEST(DistanceRowsTest, GrowsUnderReaders) {
  const DistanceRows rows(&Rows, std::numeric_limits<int64_t>::max());
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&rows, i] {
      for (int64_t past = i; past < 3000; past += 37) ExpectCovers(rows, past, -16);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace runnel
