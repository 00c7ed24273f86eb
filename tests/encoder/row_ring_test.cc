// The ring keeps the last rows, in order, however they are divided into appends.
#include "encoder/row_ring.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <limits>
#include <random>
#include <vector>

namespace runnel {
namespace {

constexpr int64_t kDim = 5;

class RowRingTest : public ::testing::TestWithParam<DataType> {
 protected:
  using Row = std::vector<uint8_t>;

  static int64_t row_bytes() { return kDim * BytesOf(GetParam()); }

  // `count` rows whose bytes tell them apart, each `stride` values after the one before.
  static std::vector<uint8_t> Rows(int64_t first, int64_t count, int64_t stride = kDim) {
    std::vector<uint8_t> bytes(static_cast<size_t>(count * stride * BytesOf(GetParam())));
    for (int64_t i = 0; i < count; ++i) {
      const Row row = RowAt(first + i);
      std::memcpy(bytes.data() + i * stride * BytesOf(GetParam()), row.data(), row.size());
    }
    return bytes;
  }
  static Row RowAt(int64_t index) {
    Row row;
    for (int64_t i = 0; i < row_bytes(); ++i) {
      row.push_back(static_cast<uint8_t>((index * row_bytes() + i) % 251));
    }
    return row;
  }

  static void ExpectHolds(const RowRing& ring, const std::deque<Row>& expected) {
    ASSERT_EQ(ring.size(), static_cast<int64_t>(expected.size()));
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(
          std::memcmp(ring.Row(static_cast<int64_t>(i)), expected[i].data(), expected[i].size()), 0)
          << "row " << i;
    }
  }
};

INSTANTIATE_TEST_SUITE_P(DataTypes, RowRingTest,
                         ::testing::Values(DataType::kFloat32, DataType::kBfloat16,
                                           DataType::kFloat64));

TEST_P(RowRingTest, StartsEmpty) {
  RowRing ring(kDim, GetParam());
  ring.DropFirst(3);
  EXPECT_EQ(ring.size(), 0);
  EXPECT_EQ(ring.num_bytes(), 0);
}

TEST_P(RowRingTest, KeepsTheLastRowsInOrder) {
  std::mt19937_64 random(3);
  for (const int64_t limit : {0, 1, 7, -1}) {
    RowRing ring(kDim, GetParam());
    std::deque<Row> expected;
    int64_t now = limit;
    for (int64_t next = 0; next < 300;) {
      if (random() % 10 == 0 && limit > 0) now = limit + static_cast<int64_t>(random() % 3);
      if (random() % 20 == 0 && limit > 0) now = random() % 2 == 0 ? -1 : 0;
      const auto count = static_cast<int64_t>(random() % 12);
      const int64_t stride = kDim + static_cast<int64_t>(random() % 4);
      ring.Append(Rows(next, count, stride).data(), stride, count, now);
      for (int64_t i = 0; i < count; ++i) expected.push_back(RowAt(next + i));
      while (now >= 0 && static_cast<int64_t>(expected.size()) > now) expected.pop_front();
      ExpectHolds(ring, expected);
      next += count;
    }
  }
}

TEST_P(RowRingTest, RandomAppendsDropsAndCopies) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<RowRing> rings(3, RowRing(kDim, GetParam()));
    std::vector<std::deque<Row>> expected(rings.size());
    int64_t next = 0;
    for (int step = 0; step < 200; ++step) {
      const size_t one = random() % rings.size();
      const size_t other = random() % rings.size();
      if (random() % 8 == 0) {  // itself, too
        rings[one] = rings[other];
        expected[one] = expected[other];
      } else if (random() % 4 == 0) {
        const size_t count = random() % 12;
        rings[one].DropFirst(static_cast<int64_t>(count));
        for (size_t i = 0; i < count && !expected[one].empty(); ++i) expected[one].pop_front();
      } else {
        const auto count = static_cast<int64_t>(random() % 7);
        rings[one].Append(Rows(next, count).data(), kDim, count, -1);
        for (int64_t i = 0; i < count; ++i) expected[one].push_back(RowAt(next++));
      }
      for (size_t i = 0; i < rings.size(); ++i) ExpectHolds(rings[i], expected[i]);
      if (HasFailure()) return;
    }
  }
}

TEST_P(RowRingTest, MemoryIsThatOfTheLimit) {
  RowRing ring(kDim, GetParam());
  const std::vector<uint8_t> rows = Rows(0, 4);
  for (int i = 0; i < 100; ++i) {
    ring.Append(rows.data(), kDim, 4, 9);
    EXPECT_LE(ring.num_bytes(), 9 * row_bytes());
  }
  EXPECT_EQ(ring.num_bytes(), 9 * row_bytes());
  // A limit that is never reached costs nothing.
  RowRing short_one(kDim, GetParam());
  short_one.Append(rows.data(), kDim, 4, int64_t{1} << 40);
  EXPECT_LE(short_one.num_bytes(), 8 * row_bytes());
}

TEST_P(RowRingTest, GrowthWithoutLimitCopiesEachRowAFewTimes) {
  RowRing ring(kDim, GetParam());
  const std::vector<uint8_t> row = Rows(0, 1);
  int64_t copied = 0;
  int64_t bytes = 0;
  constexpr int64_t kRows = 20000;
  for (int64_t i = 0; i < kRows; ++i) {
    ring.Append(row.data(), kDim, 1, -1);
    if (ring.num_bytes() != bytes) copied += ring.size();
    bytes = ring.num_bytes();
  }
  EXPECT_LE(copied, 3 * kRows);
}

TEST_P(RowRingTest, ACopyOwnsItsRows) {
  RowRing ring(kDim, GetParam());
  ring.Append(Rows(0, 10).data(), kDim, 10, 6);
  const RowRing copy = ring;
  ring.Append(Rows(10, 3).data(), kDim, 3, 6);
  std::deque<Row> expected;
  for (int64_t i = 4; i < 10; ++i) expected.push_back(RowAt(i));
  ExpectHolds(copy, expected);
}

TEST(RowRingFiniteTest, FindsNanAndInfinityInEveryDataType) {
  const std::vector<float> float32 = {1, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<double> float64 = {1, -std::numeric_limits<double>::infinity()};
  const std::vector<uint16_t> bfloat16 = {0x3F80, 0x7F80};
  const auto expect = [](DataType type, const void* values) {
    RowRing ring(1, type);
    EXPECT_TRUE(ring.AllFinite());
    ring.Append(values, 1, 1, -1);
    EXPECT_TRUE(ring.AllFinite());
    ring.Append(values, 1, 2, -1);
    EXPECT_FALSE(ring.AllFinite());
  };
  expect(DataType::kFloat32, float32.data());
  expect(DataType::kFloat64, float64.data());
  expect(DataType::kBfloat16, bfloat16.data());
}

}  // namespace
}  // namespace runnel
