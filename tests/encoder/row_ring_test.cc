// The ring keeps the last rows, in order, whatever the pieces they come in.
#include "encoder/fast/row_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace runnel {
namespace {

constexpr int64_t kWidth = 5;

// Rows of small whole numbers, which bfloat16 holds exactly.
std::vector<float> Rows(int64_t first, int64_t count) {
  std::vector<float> rows;
  for (int64_t i = 0; i < count * kWidth; ++i) {
    rows.push_back(static_cast<float>((first * kWidth + i) % 251));
  }
  return rows;
}

void ExpectHolds(const RowRing& ring, const std::deque<std::vector<float>>& expected) {
  kernels::Scratch scratch;
  ASSERT_EQ(ring.size(), static_cast<int64_t>(expected.size()));
  std::vector<const float*> rows(expected.size());
  ring.Collect(&scratch, rows.data());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(std::equal(expected[i].begin(), expected[i].end(), rows[i])) << "row " << i;
  }
}

class RowRingTest : public ::testing::TestWithParam<RowRing::Storage> {};

INSTANTIATE_TEST_SUITE_P(Storages, RowRingTest,
                         ::testing::Values(RowRing::Storage::kFloat32,
                                           RowRing::Storage::kBfloat16));

TEST_P(RowRingTest, KeepsTheLastRowsInOrder) {
  std::mt19937_64 random(3);
  for (const int64_t limit : {0, 1, 7, -1}) {
    RowRing ring(kWidth, GetParam());
    std::deque<std::vector<float>> expected;
    int64_t now = limit;
    for (int64_t next = 0; next < 300;) {
      if (random() % 10 == 0 && limit > 0) now = limit + static_cast<int64_t>(random() % 3);
      if (random() % 20 == 0 && limit > 0) now = random() % 2 == 0 ? -1 : 0;
      const auto count = static_cast<int64_t>(random() % 12);
      const std::vector<float> rows = Rows(next, count);
      ring.Append(rows.data(), kWidth, count, now);
      for (int64_t i = 0; i < count; ++i) {
        expected.emplace_back(rows.begin() + i * kWidth, rows.begin() + (i + 1) * kWidth);
      }
      while (now >= 0 && static_cast<int64_t>(expected.size()) > now) expected.pop_front();
      ExpectHolds(ring, expected);
      next += count;
    }
  }
}

TEST_P(RowRingTest, MemoryIsThatOfTheLimit) {
  RowRing ring(kWidth, GetParam());
  EXPECT_EQ(ring.num_bytes(), 0);
  const int64_t row_bytes = kWidth * (GetParam() == RowRing::Storage::kFloat32 ? 4 : 2);
  const std::vector<float> rows = Rows(0, 4);
  for (int i = 0; i < 100; ++i) {
    ring.Append(rows.data(), kWidth, 4, 9);
    EXPECT_LE(ring.num_bytes(), 9 * row_bytes);
  }
  EXPECT_EQ(ring.num_bytes(), 9 * row_bytes);
  // A limit that is never reached costs nothing.
  RowRing short_one(kWidth, GetParam());
  short_one.Append(rows.data(), kWidth, 4, int64_t{1} << 40);
  EXPECT_LE(short_one.num_bytes(), 8 * row_bytes);
}

TEST_P(RowRingTest, ACopyGoesItsOwnWay) {
  RowRing ring(kWidth, GetParam());
  const std::vector<float> rows = Rows(0, 20);
  ring.Append(rows.data(), kWidth, 10, 6);
  const RowRing copy = ring;
  ring.Append(rows.data() + 10 * kWidth, kWidth, 3, 6);
  std::deque<std::vector<float>> expected;
  for (int64_t i = 4; i < 10; ++i) {
    expected.emplace_back(rows.begin() + i * kWidth, rows.begin() + (i + 1) * kWidth);
  }
  ExpectHolds(copy, expected);
}

}  // namespace
}  // namespace runnel
