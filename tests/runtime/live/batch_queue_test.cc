#include "runtime/live/batch_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace runnel {
namespace {

using Batch = std::vector<int>;

// Longer than any test runs: a batch that waits for it never comes.
constexpr std::chrono::hours kForever(10);

TEST(BatchQueueTest, AFullBatchDoesNotWait) {
  BatchQueue<int> queue(3, kForever);
  for (int i = 0; i < 7; ++i) queue.Push(i);
  EXPECT_EQ(queue.Take(), (Batch{0, 1, 2}));
  EXPECT_EQ(queue.Take(), (Batch{3, 4, 5}));
  EXPECT_EQ(queue.size(), 1U);
}

TEST(BatchQueueTest, WithoutWaitingABatchIsWhatIsThere) {
  BatchQueue<int> queue(16, std::chrono::seconds(0));
  queue.Push(1);
  queue.Push(2);
  EXPECT_EQ(queue.Take(), (Batch{1, 2}));
}

TEST(BatchQueueTest, StragglersAreWaitedForNoLongerThanTheDeadline) {
  BatchQueue<int> queue(2, std::chrono::milliseconds(5));
  queue.Push(1);
  EXPECT_EQ(queue.Take(), Batch{1});  // the other one never comes
}

TEST(BatchQueueTest, AccountsTakeTurnsByCost) {
  BatchQueue<int> queue(3, kForever);
  for (int i = 0; i < 6; ++i) queue.Push(i, "busy", 2);
  for (int i = 10; i < 13; ++i) queue.Push(i, "quick", 1);
  EXPECT_EQ(queue.Take(), (Batch{0, 10, 11}));
  EXPECT_EQ(queue.Take(), (Batch{1, 12, 2}));
  EXPECT_EQ(queue.Take(), (Batch{3, 4, 5}));
}

TEST(BatchQueueTest, WhatTookLongerIsChargedToItsAccount) {
  BatchQueue<int> queue(2, kForever);
  for (int i = 0; i < 4; ++i) queue.Push(i, "busy", 1);
  for (int i = 10; i < 14; ++i) queue.Push(i, "quick", 1);
  EXPECT_EQ(queue.Take(), (Batch{0, 10}));
  queue.Charge("busy", 2);
  EXPECT_EQ(queue.Take(), (Batch{11, 12}));
  EXPECT_EQ(queue.Take(), (Batch{1, 13}));
}

TEST(BatchQueueTest, TheCostOfABatchIsBounded) {
  BatchQueue<int> queue(8, std::chrono::seconds(0));
  for (int i = 0; i < 16; ++i) queue.Push(i, "", 3);
  EXPECT_EQ(queue.Take().size(), 8U);
  queue.SetMostCost(7);
  EXPECT_EQ(queue.Take(), (Batch{8, 9}));
  queue.Push(16, "other", 20);
  EXPECT_EQ(queue.Take(), (Batch{16}));  // more than the bound by itself
  EXPECT_EQ(queue.Take(), (Batch{10, 11}));
  queue.SetMostCost(BatchQueue<int>::kAnyCost);
  EXPECT_EQ(queue.Take(), (Batch{12, 13, 14, 15}));
}

// Of any account: its batch may take others.
TEST(BatchQueueTest, TheOldestDeadlineStartsABatch) {
  BatchQueue<int> queue(3, std::chrono::milliseconds(5));
  queue.Push(1, "a", 1);
  queue.Push(2, "b", 1);
  EXPECT_EQ(queue.Take(), (Batch{1, 2}));
}

TEST(BatchQueueTest, ABatchWaitsUntilItIsFull) {
  BatchQueue<int> queue(3, kForever);
  Batch taken;
  std::thread worker([&] { taken = queue.Take(); });
  for (int i = 0; i < 3; ++i) queue.Push(i);
  worker.join();
  EXPECT_EQ(taken, (Batch{0, 1, 2}));
}

TEST(BatchQueueTest, StopEndsEveryWait) {
  BatchQueue<int> queue(3, kForever);
  queue.Push(1);
  std::vector<std::thread> workers;
  for (int i = 0; i < 3; ++i) {
    workers.emplace_back([&] { EXPECT_TRUE(queue.Take().empty()); });
  }
  queue.Stop();
  for (std::thread& worker : workers) worker.join();
  queue.Push(2);
  EXPECT_TRUE(queue.Take().empty());
}

TEST(BatchQueueTest, ThreadsTakeEveryItemOnce) {
  constexpr int kItems = 2000;
  constexpr int kThreads = 4;
  BatchQueue<int> queue(7, std::chrono::microseconds(50));
  std::mutex mutex;
  std::multiset<int> taken;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      while (true) {
        const Batch batch = queue.Take();
        if (batch.empty()) return;
        const std::lock_guard<std::mutex> lock(mutex);
        taken.insert(batch.begin(), batch.end());
        if (taken.size() == kItems) queue.Stop();
      }
    });
  }
  for (int i = 0; i < kItems; ++i) queue.Push(i);
  for (std::thread& thread : threads) thread.join();
  ASSERT_EQ(taken.size(), static_cast<size_t>(kItems));
  for (int i = 0; i < kItems; ++i) EXPECT_EQ(taken.count(i), 1U) << i;
}

}  // namespace
}  // namespace runnel
