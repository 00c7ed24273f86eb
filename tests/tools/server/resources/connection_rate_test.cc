#include "tools/server/resources/connection_rate.h"

#include <gtest/gtest.h>

#include <string>

namespace runnel::server {
namespace {

using Time = ConnectionRate::Time;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Time kStart{};

TEST(ConnectionRate, SomeBeginAtOnceAndFurtherOnesAtTheRate) {
  ConnectionRate rate(/*per_second=*/10, /*most_at_once=*/3);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rate.Next("a", kStart), kStart);
  for (int i = 1; i <= 20; ++i) EXPECT_EQ(rate.Next("a", kStart), kStart + i * milliseconds(100));
}

TEST(ConnectionRate, AnAccountDelaysItselfOnly) {
  ConnectionRate rate(/*per_second=*/10, /*most_at_once=*/1);
  for (int i = 0; i < 1000; ++i) rate.Next("flood", kStart);
  EXPECT_EQ(rate.Next("other", kStart), kStart);
  EXPECT_GT(rate.Next("flood", kStart + seconds(1)), kStart + seconds(1));
}

TEST(ConnectionRate, TimeGivesBackWhatWasUsed) {
  ConnectionRate rate(/*per_second=*/10, /*most_at_once=*/2);
  for (int i = 0; i < 2; ++i) rate.Next("a", kStart);
  const Time later = kStart + milliseconds(100);
  EXPECT_EQ(rate.Next("a", later), later);
  EXPECT_EQ(rate.Next("a", later), later + milliseconds(100));
  const Time much_later = kStart + seconds(100);  // no more than at first
  for (int i = 0; i < 2; ++i) EXPECT_EQ(rate.Next("a", much_later), much_later);
  EXPECT_EQ(rate.Next("a", much_later), much_later + milliseconds(100));
}

TEST(ConnectionRate, ARateOfZeroIsNoLimit) {
  ConnectionRate rate(/*per_second=*/0, /*most_at_once=*/1);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(rate.Next("a", kStart), kStart);
}

// Also while others are forgotten.
TEST(ConnectionRate, ManyAccountsDoNotForgetABusyOne) {
  ConnectionRate rate(/*per_second=*/1, /*most_at_once=*/1);
  for (int i = 0; i < 60; ++i) rate.Next("busy", kStart);
  for (int i = 0; i < 2000; ++i) rate.Next(std::to_string(i), kStart + i * milliseconds(10));
  EXPECT_EQ(rate.Next("busy", kStart + seconds(20)), kStart + seconds(60));
}

}  // namespace
}  // namespace runnel::server
