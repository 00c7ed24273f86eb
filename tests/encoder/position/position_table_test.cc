// Rows of the projected sinusoids: the formula, and the same bits whatever was asked before.
#include "encoder/position/position_table.h"

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "encoder/rows.h"
#include "tests/support/matrices.h"
#include "tests/support/pair_formula.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::EqualBits;
using testing::FormulaTolerance;
using testing::MatrixOf;
using testing::RelativeError;
using testing::ValueAt;

constexpr int64_t kDim = 18;

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
constexpr AttentionSizes kSizes = {kDim, 3};

// Of the layers of a table.
const std::vector<std::string> kNames = {"a", "b"};

// The rows of the distances first, ..., last.
Matrix RowsIn(const PositionTable::Range& range, int64_t first, int64_t last, size_t layer = 0) {
  const ConstRows columns = range.columns.at(layer).rows();
  const int64_t begin = range.distances.first - first;
  return MatrixOf(columns.type, first - last + 1, columns.count, [&](int64_t row, int64_t k) {
    return ValueAt(columns, k * columns.dim + begin + row);
  });
}
Matrix RowsIn(const PositionTable::Range& range) {
  return RowsIn(range, range.distances.first, range.distances.last);
}

class Table {
 public:
  explicit Table(DataType type, TableOrder order = TableOrder::kDescending,
                 int64_t max_distance = kUnbounded)
      : Table(testing::RandomWeightSource(type, 7), order, max_distance) {}

  std::shared_ptr<const PositionTable::Range> Covering(int64_t first, int64_t last) const {
    const auto range = table_.Covering({first, last});
    EXPECT_EQ(range->columns.size(), kNames.size());
    for (const Matrix& layer : range->columns) {
      const ConstRows columns = layer.rows();
      EXPECT_EQ(columns.count, kDim);
      EXPECT_GE(columns.dim, range->distances.size() + PositionTable::kColumnPadding);
      bool padding_is_zero = true;
      for (int64_t k = 0; k < columns.count; ++k) {
        for (int64_t i = range->distances.size(); i < columns.dim; ++i) {
          padding_is_zero = padding_is_zero && ValueAt(columns, k * columns.dim + i) == 0;
        }
      }
      EXPECT_TRUE(padding_is_zero);
    }
    return range;
  }

  // (first - last + 1, d)
  Matrix Rows(int64_t first, int64_t last, size_t layer = 0) const {
    const auto range = Covering(first, last);
    EXPECT_TRUE(range->distances.Contains({first, last}));
    return RowsIn(*range, first, last, layer);
  }

 private:
  Table(testing::RandomWeightSource source, TableOrder order, int64_t max_distance)
      : table_(Layers(&source), order, max_distance) {}

  static std::vector<LinearPos> Layers(Weights* source) {
    std::vector<LinearPos> layers;
    for (const std::string& name : kNames) layers.emplace_back(source, name, kSizes, true);
    return layers;
  }

  PositionTable table_;
};

// W_pos PE(r) + b, r = first down to last.
Matrix ByFormula(int64_t first, int64_t last, int64_t sign = 1, size_t layer = 0) {
  testing::RandomWeightSource source(DataType::kFloat64, 7);
  const Tensor weight = source.Take(kNames[layer] + ".linear_pos.weight", {kDim, kDim});
  const Tensor bias = source.Take(kNames[layer] + ".linear_pos.bias", {kDim});
  std::vector<std::vector<double>> sinusoids;
  for (int64_t r = first; r >= last; --r) {
    sinusoids.push_back(testing::SinusoidsByFormula(sign * r, kDim));
  }
  return MatrixOf(DataType::kFloat64, first - last + 1, kDim, [&](int64_t row, int64_t k) {
    const double* weights = weight.float64() + k * kDim;
    return std::inner_product(weights, weights + kDim, sinusoids[static_cast<size_t>(row)].begin(),
                              bias.float64()[k]);
  });
}

// The rows of a new table.
Matrix Fresh(DataType type, int64_t first, int64_t last) { return Table(type).Rows(first, last); }

using Range = std::pair<int64_t, int64_t>;  // first, last

Range RandomRange(std::mt19937_64* random) {
  const auto last = 40 - static_cast<int64_t>((*random)() % 300);
  return {last + static_cast<int64_t>((*random)() % 700), last};
}

class PositionTableTest : public ::testing::TestWithParam<DataType> {};

INSTANTIATE_TEST_SUITE_P(Types, PositionTableTest,
                         ::testing::Values(DataType::kFloat32, DataType::kFloat64),
                         [](const auto& type) -> std::string {
                           return type.param == DataType::kFloat64 ? "Float64" : "Float32";
                         });

TEST_P(PositionTableTest, RowsAreTheFormula) {
  const Table table(GetParam());
  const std::vector<Range> ranges = {{0, 0},     {5, -5},   {63, 0},       {64, 64}, {-1, -1},
                                     {-64, -65}, {200, -3}, {-100, -300},  {127, 1}, {1000, 990},
                                     {-3, -70},  {300, 64}, {30000, 29990}};
  for (const auto& [first, last] : ranges) {
    SCOPED_TRACE(::testing::Message() << "distances " << first << " to " << last);
    const Matrix rows = table.Rows(first, last);
    EXPECT_EQ(rows.type(), GetParam());
    EXPECT_LE(RelativeError(rows, ByFormula(first, last)), FormulaTolerance(GetParam()));
  }
}

TEST_P(PositionTableTest, EveryLayerHasItsProjection) {
  const Table table(GetParam());
  table.Rows(5, -3);
  EXPECT_LE(RelativeError(table.Rows(300, -40, 1), ByFormula(300, -40, 1, 1)),
            FormulaTolerance(GetParam()));
}

TEST_P(PositionTableTest, AscendingRowsAreThoseOfKeyMinusQuery) {
  const Table table(GetParam(), TableOrder::kAscending);
  EXPECT_LE(RelativeError(table.Rows(200, -300), ByFormula(200, -300, -1)),
            FormulaTolerance(GetParam()));
}

TEST_P(PositionTableTest, FarDistancesLoseNothing) {
  // Angles are reduced before they are rounded: far from zero they are as good as near it.
  const Table table(GetParam());
  for (const int64_t first : {100003, 10000003, -10000003, 200000011}) {
    EXPECT_LE(RelativeError(table.Rows(first, first - 5), ByFormula(first, first - 5)),
              FormulaTolerance(GetParam()));
  }
}

TEST_P(PositionTableTest, SameBitsWhateverWasAskedBefore) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const Table table(GetParam());
    for (int i = 0; i < 15; ++i) {
      const auto [first, last] = RandomRange(&random);
      EXPECT_TRUE(EqualBits(table.Rows(first, last), Fresh(GetParam(), first, last)))
          << first << " to " << last;
    }
  }
}

TEST_P(PositionTableTest, GrowingContextGivesTheSameBits) {
  const Table table(GetParam());
  const Matrix all = Fresh(GetParam(), 2000, -15);
  for (int64_t first = 15; first <= 2000; first += 16) {
    EXPECT_TRUE(EqualBits(table.Rows(first, -15), all.rows().Part(2000 - first, first + 16)));
  }
}

TEST_P(PositionTableTest, RangesTooWideToRememberAreComputedAllTheSame) {
  const Table table(GetParam());
  const Matrix before = table.Rows(100, -20);
  const Matrix wide = table.Rows(80000, -80000);
  EXPECT_EQ(wide.count(), 160001);
  EXPECT_TRUE(EqualBits(wide.rows().Part(80000 - 100, 121), before));
  EXPECT_TRUE(EqualBits(wide.rows().Part(0, 10), Fresh(GetParam(), 80000, 79991)));
  EXPECT_TRUE(EqualBits(table.Rows(100, -20), before));
  EXPECT_TRUE(EqualBits(table.Rows(300, -90), Fresh(GetParam(), 300, -90)));
}

TEST_P(PositionTableTest, AGrowingContextIsComputedAFewTimesOnly) {
  const Table table(GetParam());
  std::set<const void*> ranges;
  for (int64_t first = 15; first < 16000; first += 16) {
    ranges.insert(table.Covering(first, -15).get());
  }
  EXPECT_LE(ranges.size(), 15U);
  // Narrower ranges need nothing new.
  const auto widest = table.Covering(16000, -15);
  EXPECT_EQ(table.Covering(12000, -15), widest);
  EXPECT_EQ(table.Covering(10, 3), widest);
}

TEST_P(PositionTableTest, RangesTooWideToRememberAreComputedEachTime) {
  const Table table(GetParam());
  const auto remembered = table.Covering(100, -20);
  const auto wide = table.Covering(40000, -15);
  EXPECT_NE(table.Covering(40000, -15), wide);
  EXPECT_EQ(table.Covering(100, -20), remembered);
  // Two ranges that are too wide together: the first is kept.
  const auto past = table.Covering(30000, -20);
  EXPECT_NE(table.Covering(10, -30000), table.Covering(10, -30000));
  EXPECT_EQ(table.Covering(30000, -20), past);
}

TEST_P(PositionTableTest, StaysWithinTheLargestDistance) {
  const Table table(GetParam(), TableOrder::kDescending, 7);
  const auto near = table.Covering(3, -2);
  EXPECT_EQ(near->distances.size(), 6);
  const auto all = table.Covering(100, -100);
  EXPECT_EQ(all->distances.first, 7);
  EXPECT_EQ(all->distances.last, -7);
  EXPECT_TRUE(EqualBits(RowsIn(*all), Fresh(GetParam(), 7, -7)));
  const Table other(GetParam(), TableOrder::kDescending, 7);
  const auto beyond = other.Covering(100, 90);
  EXPECT_TRUE(EqualBits(RowsIn(*beyond), Fresh(GetParam(), 7, 7)));
}

TEST_P(PositionTableTest, RowsStayValidWhenTheTableGrows) {
  const Table table(GetParam());
  const auto range = table.Covering(10, -10);
  const std::vector<Matrix> copy = range->columns;
  for (int64_t first = 20; first < 5000; first *= 2) table.Rows(first, -first);
  for (size_t i = 0; i < copy.size(); ++i) EXPECT_TRUE(EqualBits(range->columns[i], copy[i]));
}

TEST_P(PositionTableTest, SeveralThreads) {
  const Table table(GetParam());
  constexpr int kThreads = 4;
  std::vector<std::vector<std::pair<Range, Matrix>>> results(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&table, &mine = results[static_cast<size_t>(t)], t] {
      std::mt19937_64 random(static_cast<uint64_t>(t));
      // All threads make the table grow, again and again, and read what others made.
      for (int64_t furthest = 100; furthest < 3200; furthest += 100) {
        const auto first = furthest - static_cast<int64_t>(random() % 100);
        const Range range{first, first - 50 - static_cast<int64_t>(random() % 300)};
        mine.emplace_back(range, table.Rows(range.first, range.second));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : results) {
    for (const auto& [range, rows] : mine) {
      EXPECT_TRUE(EqualBits(rows, Fresh(GetParam(), range.first, range.second)));
    }
  }
}

}  // namespace
}  // namespace runnel
