// Rows of the projected sinusoids: the formula, and the same bits whatever was asked before.
#include "encoder/position/position_table.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linear.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/pair_formula.h"
#include "tests/support/random_encoder.h"
#include "tests/support/relative_error.h"
#include "tests/support/tolerances.h"

namespace runnel {
namespace {

using testing::FormulaTolerance;
using testing::RelativeError;

constexpr int64_t kDim = 18;

constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max();
constexpr AttentionSizes kSizes = {kDim, 3};

class Table {
 public:
  explicit Table(at::ScalarType dtype, TableOrder order = TableOrder::kDescending,
                 int64_t max_distance = kUnbounded)
      : Table(testing::RandomWeightSource(dtype, 7), order, max_distance) {}

  std::shared_ptr<const PositionTable::Range> Covering(int64_t first, int64_t last) const {
    const auto range = table_.Covering({first, last});
    EXPECT_EQ(range->rows().sizes(), at::IntArrayRef({range->distances.size(), kDim}));
    const at::Tensor padding = range->columns.slice(1, range->distances.size());
    EXPECT_GE(padding.size(1), PositionTable::kColumnPadding);
    EXPECT_TRUE(padding.eq(0).all().item<bool>());
    return range;
  }

  // (first - last + 1, d)
  at::Tensor Rows(int64_t first, int64_t last) const {
    const auto range = Covering(first, last);
    EXPECT_TRUE(range->distances.Contains({first, last}));
    return range->rows().narrow(0, range->distances.first - first, first - last + 1);
  }

 private:
  Table(testing::RandomWeightSource source, TableOrder order, int64_t max_distance)
      : table_(LinearPos(&source, "a", kSizes, true), order, max_distance) {}

  PositionTable table_;
};

// W_pos PE(r) + b, r = first down to last.
at::Tensor ByFormula(int64_t first, int64_t last, int64_t sign = 1) {
  testing::RandomWeightSource source(at::kDouble, 7);
  const at::Tensor weight = source.Take("a.linear_pos.weight", {kDim, kDim});
  const at::Tensor bias = source.Take("a.linear_pos.bias", {kDim});
  at::Tensor sinusoids = at::empty({first - last + 1, kDim}, at::kDouble);
  double* out = sinusoids.data_ptr<double>();
  for (int64_t r = first; r >= last; --r) {
    for (const double value : testing::SinusoidsByFormula(sign * r, kDim)) *out++ = value;
  }
  return at::linear(sinusoids, weight, bias);
}

// The rows of a new table.
at::Tensor Fresh(at::ScalarType dtype, int64_t first, int64_t last) {
  return Table(dtype).Rows(first, last).clone();
}

using Range = std::pair<int64_t, int64_t>;  // first, last

Range RandomRange(std::mt19937_64* random) {
  const auto last = 40 - static_cast<int64_t>((*random)() % 300);
  return {last + static_cast<int64_t>((*random)() % 700), last};
}

class PositionTableTest : public ::testing::TestWithParam<at::ScalarType> {};

INSTANTIATE_TEST_SUITE_P(Precisions, PositionTableTest, ::testing::Values(at::kFloat, at::kDouble),
                         [](const auto& precision) { return c10::toString(precision.param); });

TEST_P(PositionTableTest, RowsAreTheFormula) {
  const Table table(GetParam());
  const std::vector<Range> ranges = {{0, 0},     {5, -5},   {63, 0},       {64, 64}, {-1, -1},
                                     {-64, -65}, {200, -3}, {-100, -300},  {127, 1}, {1000, 990},
                                     {-3, -70},  {300, 64}, {30000, 29990}};
  for (const auto& [first, last] : ranges) {
    SCOPED_TRACE(::testing::Message() << "distances " << first << " to " << last);
    const at::Tensor rows = table.Rows(first, last);
    EXPECT_EQ(rows.scalar_type(), GetParam());
    EXPECT_LE(RelativeError(rows, ByFormula(first, last)), FormulaTolerance(GetParam()));
  }
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
      EXPECT_TRUE(at::equal(table.Rows(first, last), Fresh(GetParam(), first, last)))
          << first << " to " << last;
    }
  }
}

TEST_P(PositionTableTest, GrowingContextGivesTheSameBits) {
  const Table table(GetParam());
  const at::Tensor all = Fresh(GetParam(), 2000, -15);
  for (int64_t first = 15; first <= 2000; first += 16) {
    EXPECT_TRUE(at::equal(table.Rows(first, -15), all.narrow(0, 2000 - first, first + 16)));
  }
}

TEST_P(PositionTableTest, RangesTooWideToRememberAreComputedAllTheSame) {
  const Table table(GetParam());
  const at::Tensor before = table.Rows(100, -20).clone();
  const at::Tensor wide = table.Rows(80000, -80000);
  EXPECT_EQ(wide.size(0), 160001);
  EXPECT_TRUE(at::equal(wide.narrow(0, 80000 - 100, 121), before));
  EXPECT_TRUE(at::equal(wide.narrow(0, 0, 10), Fresh(GetParam(), 80000, 79991)));
  EXPECT_TRUE(at::equal(table.Rows(100, -20), before));
  EXPECT_TRUE(at::equal(table.Rows(300, -90), Fresh(GetParam(), 300, -90)));
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
  EXPECT_TRUE(at::equal(all->rows(), Fresh(GetParam(), 7, -7)));
  const Table other(GetParam(), TableOrder::kDescending, 7);
  const auto beyond = other.Covering(100, 90);
  EXPECT_TRUE(at::equal(beyond->rows(), Fresh(GetParam(), 7, 7)));
}

TEST_P(PositionTableTest, RowsStayValidWhenTheTableGrows) {
  const Table table(GetParam());
  const at::Tensor rows = table.Rows(10, -10);
  const at::Tensor copy = rows.clone();
  for (int64_t first = 20; first < 5000; first *= 2) table.Rows(first, -first);
  EXPECT_TRUE(at::equal(rows, copy));
}

TEST_P(PositionTableTest, SeveralThreads) {
  const Table table(GetParam());
  constexpr int kThreads = 4;
  std::vector<std::vector<std::pair<Range, at::Tensor>>> results(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&table, &mine = results[static_cast<size_t>(t)], t] {
      std::mt19937_64 random(static_cast<uint64_t>(t));
      // All threads make the table grow, again and again, and read what others made.
      for (int64_t furthest = 100; furthest < 3200; furthest += 100) {
        const auto first = furthest - static_cast<int64_t>(random() % 100);
        const Range range{first, first - 50 - static_cast<int64_t>(random() % 300)};
        mine.emplace_back(range, table.Rows(range.first, range.second).clone());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : results) {
    for (const auto& [range, rows] : mine) {
      EXPECT_TRUE(at::equal(rows, Fresh(GetParam(), range.first, range.second)));
    }
  }
}

}  // namespace
}  // namespace runnel
