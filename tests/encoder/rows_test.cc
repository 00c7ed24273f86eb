// The matrix as a rolling buffer, against a deque that does the same slowly.
#include "encoder/rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace runnel {
namespace {

constexpr int64_t kDim = 3;

// Value j of a row follows from the row's number.
double ValueAt(int64_t row, int64_t j) {
  return static_cast<double>(row) + static_cast<double>(j) / 4;
}

void Set(Rows rows, int64_t index, double value) {
  if (rows.type == DataType::kFloat64) {
    rows.float64()[index] = value;
  } else {
    rows.float32()[index] = static_cast<float>(value);
  }
}

double Get(ConstRows rows, int64_t index) {
  return rows.type == DataType::kFloat64 ? rows.float64()[index] : rows.float32()[index];
}

// A matrix and the numbers of the rows that it should hold.
struct Pair {
  explicit Pair(DataType type) : matrix(type, kDim) {}

  void Add(int64_t count, int64_t* next) {
    const Rows added = matrix.AddRows(count);
    ASSERT_EQ(added.count, count);
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t j = 0; j < kDim; ++j) Set(added, i * kDim + j, ValueAt(*next, j));
      expected.push_back((*next)++);
    }
  }

  void DropFirst(int64_t count) {
    matrix.DropFirst(count);
    expected.erase(expected.begin(), expected.begin() + count);
  }

  void Check() const {
    ASSERT_EQ(matrix.count(), static_cast<int64_t>(expected.size()));
    ASSERT_LE(matrix.count() * kDim * BytesOf(matrix.type()), matrix.num_bytes());
    for (int64_t i = 0; i < matrix.count(); ++i) {
      for (int64_t j = 0; j < kDim; ++j) {
        ASSERT_EQ(Get(matrix.rows(), i * kDim + j), ValueAt(expected[static_cast<size_t>(i)], j));
      }
    }
  }

  Matrix matrix;
  std::deque<int64_t> expected;
};

class MatrixTest : public ::testing::TestWithParam<DataType> {};

INSTANTIATE_TEST_SUITE_P(DataTypes, MatrixTest,
                         ::testing::Values(DataType::kFloat32, DataType::kFloat64));

TEST_P(MatrixTest, StartsEmpty) {
  Pair pair(GetParam());
  pair.Check();
  pair.DropFirst(0);
  pair.Check();
  EXPECT_EQ(pair.matrix.num_bytes(), 0);
}

TEST_P(MatrixTest, RandomAddsDropsAndCopies) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    int64_t next = 0;
    std::vector<Pair> pairs(3, Pair(GetParam()));
    for (int step = 0; step < 200; ++step) {
      Pair& pair = pairs[random() % pairs.size()];
      Pair& other = pairs[random() % pairs.size()];
      switch (random() % 8) {
        case 0:
          pair = other;  // itself, too
          break;
        case 1: {
          Pair taken = std::move(other);
          other = Pair(taken);
          pair = std::move(taken);
          break;
        }
        case 2:
        case 3:
          pair.DropFirst(static_cast<int64_t>(random() % (pair.expected.size() + 1)));
          break;
        default:
          pair.Add(static_cast<int64_t>(random() % 7), &next);
      }
      for (const Pair& each : pairs) {
        each.Check();
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_P(MatrixTest, ACopyOwnsItsRowsAndNoMore) {
  int64_t next = 0;
  Pair original(GetParam());
  original.Add(5, &next);
  original.DropFirst(2);
  const Pair copy = original;
  EXPECT_NE(copy.matrix.rows().data, std::as_const(original.matrix).rows().data);
  original.Add(50, &next);
  original.DropFirst(52);
  original.Add(1, &next);
  copy.Check();
  original.Check();
  EXPECT_EQ(copy.matrix.num_bytes(), 3 * kDim * BytesOf(GetParam()));
}

TEST_P(MatrixTest, AWindowOfConstantLengthNeedsConstantMemory) {
  constexpr int64_t kWindow = 20;
  for (const int64_t added : {1, 7, 33}) {
    Matrix matrix(GetParam(), kDim);
    const auto move_on = [&] {
      matrix.AddRows(added);
      matrix.DropFirst(matrix.count() - std::min(matrix.count(), kWindow));
    };
    for (int i = 0; i < 100; ++i) move_on();
    const int64_t bytes = matrix.num_bytes();
    EXPECT_LE(bytes, 2 * (kWindow + added) * kDim * BytesOf(GetParam()));
    for (int i = 0; i < 1000; ++i) {
      move_on();
      ASSERT_EQ(matrix.num_bytes(), bytes);
    }
  }
}

TEST_P(MatrixTest, GrowthCopiesEachRowAFewTimes) {
  Matrix matrix(GetParam(), kDim);
  int64_t copied = 0;
  int64_t bytes = 0;
  constexpr int64_t kRows = 20000;
  for (int64_t i = 0; i < kRows; ++i) {
    matrix.AddRows(1);
    if (matrix.num_bytes() != bytes) copied += matrix.count();
    bytes = matrix.num_bytes();
  }
  EXPECT_LE(copied, 3 * kRows);
}

TEST_P(MatrixTest, PartsAreViews) {
  int64_t next = 0;
  Pair pair(GetParam());
  pair.Add(6, &next);
  const ConstRows part = std::as_const(pair.matrix).rows().Part(2, 3);
  EXPECT_EQ(part.count, 3);
  EXPECT_EQ(Get(part, kDim + 1), ValueAt(3, 1));
  Set(pair.matrix.rows().Part(4, 1), 2, 0.5);
  EXPECT_EQ(Get(pair.matrix.rows(), 4 * kDim + 2), 0.5);
}

TEST_P(MatrixTest, RoundsToFloat32AndFindsWhatIsNotFinite) {
  Matrix matrix(GetParam(), 2, 1);
  Set(matrix.rows(), 0, 0.5);
  Set(matrix.rows(), 1, 1.0 / 3);
  EXPECT_TRUE(AllFinite(matrix.rows()));
  const Matrix rounded = ToFloat32(matrix);
  EXPECT_EQ(rounded.type(), DataType::kFloat32);
  EXPECT_EQ(rounded.rows().float32()[0], 0.5F);
  EXPECT_EQ(rounded.rows().float32()[1], static_cast<float>(1.0 / 3));
  Set(matrix.rows(), 1, std::numeric_limits<double>::quiet_NaN());
  EXPECT_FALSE(AllFinite(matrix.rows()));
}

}  // namespace
}  // namespace runnel
