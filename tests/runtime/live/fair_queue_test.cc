// Shares of clients in a FairQueue.
#include "runtime/live/fair_queue.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>

namespace runnel {
namespace {

TEST(FairQueue, ItemsOfOneClientStayInOrder) {
  FairQueue<int> queue;
  for (int i = 0; i < 5; ++i) queue.Push("a", i, 1.0 + i % 2);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(queue.front(), i);
    EXPECT_EQ(queue.Pop(), i);
  }
  EXPECT_TRUE(queue.empty());
}

TEST(FairQueue, ClientsThatAlwaysWaitGetEqualCosts) {
  FairQueue<double> queue;
  const std::map<std::string, double> cost_of = {{"cheap", 1}, {"dear", 7}, {"dearest", 20}};
  for (const auto& [client, cost] : cost_of) {
    for (int i = 0; i < 1000; ++i) queue.Push(client, cost, cost);
  }
  std::map<std::string, double> used;
  for (int i = 0; i < 900; ++i) {
    std::string client;
    queue.Pop(&client);
    used[client] += cost_of.at(client);
  }
  EXPECT_NEAR(used["cheap"], used["dear"], 20);
  EXPECT_NEAR(used["cheap"], used["dearest"], 20);
}

TEST(FairQueue, ACorrectedCostCounts) {
  FairQueue<int> queue;
  for (int i = 0; i < 100; ++i) queue.Push("underrated", i, 1);
  for (int i = 0; i < 100; ++i) queue.Push("honest", i, 1);
  std::map<std::string, int> turns;
  for (int i = 0; i < 55; ++i) {
    std::string client;
    queue.Pop(&client);
    ++turns[client];
    if (client == "underrated") queue.Charge(client, 9);
  }
  EXPECT_NEAR(turns["honest"], 50, 1);
}

TEST(FairQueue, AClientThatComesLateGetsNoMoreThanItsShare) {
  FairQueue<int> queue;
  for (int i = 0; i < 1000; ++i) queue.Push("early", i, 1);
  for (int i = 0; i < 500; ++i) queue.Pop();
  for (int i = 0; i < 500; ++i) queue.Push("late", i, 1);
  std::map<std::string, int> turns;
  for (int i = 0; i < 100; ++i) {
    std::string client;
    queue.Pop(&client);
    ++turns[client];
  }
  EXPECT_NEAR(turns["late"], 50, 1);
}

TEST(FairQueue, TheLowestRankOfAClientComesFirst) {
  FairQueue<int> queue;
  queue.Push("a", 1, 1, {5, 0});
  queue.Push("a", 2, 1, {3, 0});
  queue.Push("a", 3, 1, {3, 0});
  queue.Push("a", 4, 1, {-1, 0});
  for (const int item : {4, 2, 3, 1}) EXPECT_EQ(queue.Pop(), item);
}

TEST(FairQueue, AMovedItemIsWhereItWouldHaveBeenPushed) {
  FairQueue<int> queue;
  queue.Push("a", 1, 1, {1, 0});
  FairTicket ticket = queue.Push("a", 2, 1, {2, 0});
  queue.Push("b", 3, 1);
  ASSERT_NE(queue.Move("a", {0, 10}, &ticket), nullptr);
  EXPECT_EQ(queue.front(), 2);
  ASSERT_NE(queue.Move("a", {2, 0}, &ticket), nullptr);
  EXPECT_EQ(queue.Pop(), 1);
  EXPECT_EQ(queue.Pop(), 3);
  EXPECT_EQ(queue.Pop(), 2);
  EXPECT_EQ(queue.Move("a", {0, 10}, &ticket), nullptr);
  EXPECT_EQ(queue.Move("nobody", {0, 10}, &ticket), nullptr);
}

// However many items with a head start a client has.
TEST(FairQueue, AHeadStartGetsAClientAheadByNoMore) {
  constexpr double kHeadStart = 20;
  FairQueue<int> queue;
  for (int i = 0; i < 1000; ++i) queue.Push("plain", i, 1);
  for (int i = 0; i < 1000; ++i) queue.Push("first", i, 2, {0, kHeadStart});
  std::map<std::string, double> used;
  for (int i = 0; i < 600; ++i) {
    std::string client;
    queue.Pop(&client);
    used[client] += client == "first" ? 2 : 1;
    ASSERT_LE(used["first"], used["plain"] + kHeadStart + 2);
    EXPECT_TRUE(client == "first" || i >= 10);
  }
  EXPECT_NEAR(used["first"], used["plain"] + kHeadStart, 2);
}

// Nothing is lost, and each client's items come in order, whatever is done in between.
TEST(FairQueue, RandomWalk) {
  const unsigned seed = 20261125;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  FairQueue<int> queue;
  std::map<std::string, std::map<FairTicket, int>> waiting;
  int num_pushed = 0;
  size_t size = 0;
  const auto place = [&random]() -> FairPlace {
    return {static_cast<int64_t>(random() % 4), static_cast<double>(random() % 3) * 20};
  };
  const auto pop = [&] {
    std::string client;
    const int front = queue.front();
    const int item = queue.Pop(&client);
    std::map<FairTicket, int>& items = waiting.at(client);
    ASSERT_EQ(item, front);
    ASSERT_EQ(item, items.begin()->second);
    items.erase(items.begin());
    --size;
  };
  for (int step = 0; step < 200000; ++step) {
    const std::string name = std::to_string(random() % 300);
    std::map<FairTicket, int>& items = waiting[name];
    switch (random() % 6) {
      case 0:
      case 1:
        items[queue.Push(name, num_pushed, 0.001 + random() % 100, place())] = num_pushed;
        ++num_pushed;
        ++size;
        break;
      case 2:
        queue.Charge(name, static_cast<double>(random() % 100) - 50);
        break;
      case 3: {
        if (items.empty()) break;
        auto moved = items.extract(std::next(items.begin(), random() % items.size()));
        const int* item = queue.Move(name, place(), &moved.key());
        ASSERT_NE(item, nullptr);
        ASSERT_EQ(*item, moved.mapped());
        items.insert(std::move(moved));
        break;
      }
      default:
        if (!queue.empty()) pop();
    }
    ASSERT_EQ(queue.size(), size);
  }
  while (!queue.empty()) pop();
  for (const auto& [client, items] : waiting) EXPECT_TRUE(items.empty()) << client;
}

}  // namespace
}  // namespace runnel
