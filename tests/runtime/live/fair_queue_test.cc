// Shares of clients in a FairQueue.
#include "runtime/live/fair_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

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

// Nothing is lost, and each client's items stay in order, whatever is done in between.
TEST(FairQueue, RandomWalk) {
  const unsigned seed = 20261125;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  FairQueue<int> queue;
  std::map<std::string, int> pushed;
  std::map<std::string, int> popped;
  size_t size = 0;
  for (int step = 0; step < 200000; ++step) {
    const std::string name = std::to_string(random() % 300);
    switch (random() % 5) {
      case 0:
      case 1:
        queue.Push(name, pushed[name]++, 0.001 + random() % 100);
        ++size;
        break;
      case 2:
        queue.Charge(name, static_cast<double>(random() % 100) - 50);
        break;
      default:
        if (queue.empty()) break;
        std::string client;
        const int item = queue.Pop(&client);
        ASSERT_EQ(item, popped[client]++);
        --size;
    }
    ASSERT_EQ(queue.size(), size);
  }
  while (!queue.empty()) {
    std::string client;
    const int item = queue.Pop(&client);
    ASSERT_EQ(item, popped[client]++);
  }
  for (const auto& [client, count] : pushed) EXPECT_EQ(popped[client], count);
}

}  // namespace
}  // namespace runnel
