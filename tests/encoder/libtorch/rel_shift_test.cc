// The relative shift, and scores by distance with and without a bound.
#include "encoder/libtorch/rel_shift.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace runnel::libtorch {
namespace {

TEST(RelShiftTest, NumbersOfTheReferenceNote) {
  // The note's rows 1..7, 8..14, 15..21 have one column more than C = 3, L = 4 needs.
  const at::Tensor table =
      at::arange(1, 22, at::kLong).view({1, 3, 7}).narrow(2, 0, 6).contiguous();
  const at::Tensor expected =
      at::tensor({3, 4, 5, 6, 9, 10, 11, 12, 15, 16, 17, 18}, at::kLong).view({1, 3, 4});
  EXPECT_TRUE(at::equal(RelShift(table, 4), expected));
}

TEST(RelShiftTest, OneQueryIsNotShifted) {
  const at::Tensor table = at::arange(10, at::kLong).view({2, 1, 5});
  EXPECT_TRUE(at::equal(RelShift(table, 5), table));
}

TEST(RelShiftTest, PicksTheDistanceOfEachPair) {
  for (const int64_t queries : {1, 2, 5}) {
    for (const int64_t cached : {0, 1, 7}) {
      const int64_t keys = cached + queries;
      // Two heads, whose distances differ by 100, behind another tensor's memory.
      const at::Tensor one = keys - 1 - at::arange(keys + queries - 1, at::kLong);
      const at::Tensor head = one.expand({1, queries, -1});
      const at::Tensor table = at::cat({head - 100, head, head + 100}).narrow(0, 1, 2);
      const at::Tensor shifted = RelShift(table, keys);
      EXPECT_EQ(shifted.data_ptr(), table[0][0].narrow(0, queries - 1, 1).data_ptr());
      for (int64_t i = 0; i < queries; ++i) {
        for (int64_t j = 0; j < keys; ++j) {
          EXPECT_EQ(shifted[0][i][j].item<int64_t>(), cached + i - j);
          EXPECT_EQ(shifted[1][i][j].item<int64_t>(), cached + i - j + 100);
        }
      }
    }
  }
}

TEST(DistanceScoresTest, DistancesBeyondTheTableReadItsEnds) {
  for (const int64_t queries : {1, 2, 5}) {
    for (const int64_t cached : {0, 1, 7}) {
      for (const int64_t bound : {0, 1, 3, 50}) {
        const int64_t keys = cached + queries;
        const Distances rows{bound, -bound};
        // A row of the table is its distance; the heads multiply it by their query, 1 and 10.
        const at::Tensor table = at::arange(bound, -bound - 1, -1, at::kDouble).unsqueeze(1);
        const at::Tensor q = at::ones({2, queries, 1}, at::kDouble);
        q[1].mul_(10);
        const at::Tensor scores = DistanceScores(q, table, rows, {keys - 1, 1 - queries});
        ASSERT_EQ(scores.sizes(), at::IntArrayRef({2, queries, keys}));
        for (int64_t i = 0; i < queries; ++i) {
          for (int64_t j = 0; j < keys; ++j) {
            const auto expected = static_cast<double>(std::clamp(cached + i - j, -bound, bound));
            EXPECT_EQ(scores[0][i][j].item<double>(), expected);
            EXPECT_EQ(scores[1][i][j].item<double>(), 10 * expected);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace runnel::libtorch
