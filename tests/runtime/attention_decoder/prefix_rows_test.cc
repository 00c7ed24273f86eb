// Hypotheses that begin alike share rows; those of different utterances never do.
#include "runtime/attention_decoder/prefix_rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace runnel {
namespace {

std::vector<int64_t> PathTo(const PrefixRows& rows, int64_t row) {
  std::vector<int64_t> path = {-1, -1};  // is replaced
  rows.PathTo(row, &path);
  return path;
}

TEST(PrefixRowsTest, EqualBeginningsShareRows) {
  PrefixRows rows;
  const int64_t first = rows.AddUtterance(9);
  const int64_t a = rows.Extend(first, 1);
  const int64_t ab = rows.Extend(a, 2);
  const int64_t b = rows.Extend(first, 2);
  EXPECT_EQ(rows.Extend(first, 1), a);
  EXPECT_EQ(rows.Extend(a, 2), ab);
  EXPECT_NE(rows.Extend(b, 2), ab);
  EXPECT_EQ(rows.count(), 5);
  EXPECT_EQ(PathTo(rows, first), std::vector<int64_t>{first});
  EXPECT_EQ(PathTo(rows, ab), (std::vector<int64_t>{first, a, ab}));
  EXPECT_EQ(rows.token(first), 9);
  EXPECT_EQ(rows.token(ab), 2);
  EXPECT_EQ(rows.position(ab), 2);
  EXPECT_EQ(rows.num_positions(), 3);
}

TEST(PrefixRowsTest, UtterancesShareNothing) {
  PrefixRows rows;
  rows.Extend(rows.AddUtterance(9), 1);
  const int64_t second = rows.AddUtterance(9);
  EXPECT_EQ(second, 2);
  EXPECT_EQ(rows.Extend(second, 1), 3);
  ASSERT_EQ(rows.utterances().size(), 2U);
  EXPECT_EQ(rows.utterances()[0].first, 0);
  EXPECT_EQ(rows.utterances()[0].count, 2);
  EXPECT_EQ(rows.utterances()[1].first, 2);
  EXPECT_EQ(rows.utterances()[1].count, 2);
}

}  // namespace
}  // namespace runnel
