// The memory of messages that wait: shares of clients, and what is left for others.
#include "tools/server/resources/input_budget.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace runnel::server {
namespace {

constexpr size_t kMax = 12000;

TEST(InputBudget, OneClientMayHoldAQuarter) {
  InputBudget budget(kMax);
  InputBudget::Share first(&budget, "a");
  InputBudget::Share second(&budget, "a");
  EXPECT_TRUE(first.Resize(2000));
  EXPECT_TRUE(second.Resize(1000));
  EXPECT_FALSE(second.Resize(1001));
  EXPECT_EQ(budget.num_bytes(), 3000U);
  EXPECT_TRUE(first.Resize(500));
  EXPECT_TRUE(second.Resize(2500));
  { const InputBudget::Share moved = std::move(second); }
  EXPECT_EQ(budget.num_bytes(), 500U);
}

TEST(InputBudget, SomethingIsLeftForAnyone) {
  InputBudget budget(kMax);
  std::vector<InputBudget::Share> shares;
  for (int i = 0; i < 100; ++i) {
    shares.emplace_back(&budget, std::to_string(i));
    size_t held = 0;
    while (shares.back().Resize(held + 10)) held += 10;
    EXPECT_GE(held, kMax / 4 / static_cast<size_t>((i + 1) * (i + 1)) / 10 * 10) << i;
  }
  EXPECT_LT(budget.num_bytes(), kMax);
}

TEST(InputBudget, WhatIsThereIsCounted) {
  InputBudget budget(kMax);
  InputBudget::Share grpc(&budget, "a");
  grpc.Force(2 * kMax);
  InputBudget::Share other(&budget, "b");
  EXPECT_FALSE(other.Resize(1));
  EXPECT_TRUE(other.Resize(0));
  grpc.Force(0);
  EXPECT_TRUE(other.Resize(1));
}

TEST(InputBudget, NoBudgetHasNoLimit) {
  InputBudget::Share share;
  EXPECT_TRUE(share.Resize(size_t{1} << 60));
}

}  // namespace
}  // namespace runnel::server
