// Rows of the projected sinusoids: the formula, and the same bits whatever was asked before.
#include "encoder/position/position_table.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <random>
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

PositionTable Table(at::ScalarType dtype, TableOrder order = TableOrder::kDescending) {
  testing::RandomWeightSource source(dtype, 7);
  return PositionTable(Linear(&source, "linear_pos", kDim, kDim), kDim, order);
}

// W_pos PE(r) + b, r = first down to last.
at::Tensor ByFormula(int64_t first, int64_t last, int64_t sign = 1) {
  testing::RandomWeightSource source(at::kDouble, 7);
  const Linear linear_pos(&source, "linear_pos", kDim, kDim);
  at::Tensor sinusoids = at::empty({first - last + 1, kDim}, at::kDouble);
  double* out = sinusoids.data_ptr<double>();
  for (int64_t r = first; r >= last; --r) {
    for (const double value : testing::SinusoidsByFormula(sign * r, kDim)) *out++ = value;
  }
  return linear_pos.Forward(sinusoids);
}

// What a table that was asked for nothing before gives.
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
  const PositionTable table = Table(GetParam());
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
  const PositionTable table = Table(GetParam(), TableOrder::kAscending);
  EXPECT_LE(RelativeError(table.Rows(200, -300), ByFormula(200, -300, -1)),
            FormulaTolerance(GetParam()));
}

TEST_P(PositionTableTest, FarDistancesLoseNothing) {
  // Angles are reduced before they are rounded: far from zero they are as good as near it.
  const PositionTable table = Table(GetParam());
  for (const int64_t first : {100003, 10000003, -10000003, 200000011}) {
    EXPECT_LE(RelativeError(table.Rows(first, first - 5), ByFormula(first, first - 5)),
              FormulaTolerance(GetParam()));
  }
}

TEST_P(PositionTableTest, SameBitsWhateverWasAskedBefore) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(::testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const PositionTable table = Table(GetParam());
    for (int i = 0; i < 15; ++i) {
      const auto [first, last] = RandomRange(&random);
      EXPECT_TRUE(at::equal(table.Rows(first, last), Fresh(GetParam(), first, last)))
          << first << " to " << last;
    }
  }
}

TEST_P(PositionTableTest, GrowingContextGivesTheSameBits) {
  const PositionTable table = Table(GetParam());
  const at::Tensor all = Fresh(GetParam(), 2000, -15);
  for (int64_t first = 15; first <= 2000; first += 16) {
    EXPECT_TRUE(at::equal(table.Rows(first, -15), all.narrow(0, 2000 - first, first + 16)));
  }
}

TEST_P(PositionTableTest, RangesTooWideToRememberAreComputedAllTheSame) {
  const PositionTable table = Table(GetParam());
  const at::Tensor before = table.Rows(100, -20).clone();
  const at::Tensor wide = table.Rows(80000, -80000);
  EXPECT_EQ(wide.size(0), 160001);
  EXPECT_TRUE(at::equal(wide.narrow(0, 80000 - 100, 121), before));
  EXPECT_TRUE(at::equal(wide.narrow(0, 0, 10), Fresh(GetParam(), 80000, 79991)));
  EXPECT_TRUE(at::equal(table.Rows(100, -20), before));
  EXPECT_TRUE(at::equal(table.Rows(300, -90), Fresh(GetParam(), 300, -90)));
}

TEST_P(PositionTableTest, RowsStayValidWhenTheTableGrows) {
  const PositionTable table = Table(GetParam());
  const at::Tensor rows = table.Rows(10, -10);
  const at::Tensor copy = rows.clone();
  for (int64_t first = 20; first < 5000; first *= 2) table.Rows(first, -first);
  EXPECT_TRUE(at::equal(rows, copy));
}

TEST_P(PositionTableTest, SeveralThreads) {
  const PositionTable table = Table(GetParam());
  constexpr int kThreads = 4;
  std::vector<std::vector<std::pair<Range, at::Tensor>>> results(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&table, &mine = results[static_cast<size_t>(t)], t] {
      std::mt19937_64 random(static_cast<uint64_t>(t));
      for (int i = 0; i < 20; ++i) {
        const Range range = RandomRange(&random);
        mine.emplace_back(range, table.Rows(range.first, range.second));
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
