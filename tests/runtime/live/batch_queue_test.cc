#include "runtime/live/batch_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/random_steps.h"

namespace runnel {
namespace {

using Batch = std::vector<int>;

using Queue = BatchQueue<int>;
using Kind = Queue::Kind;

// Longer than any test runs: a batch that waits for it never comes.
constexpr std::chrono::hours kForever(10);

// The time of a queue, which only a test moves.
class FakeClock {
 public:
  std::function<Queue::Clock::time_point()> function() {
    return [this] { return now_; };
  }
  void Advance(Queue::Clock::duration duration) { now_ += duration; }

 private:
  Queue::Clock::time_point now_{};
};

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

TEST(BatchQueueTest, AnEndWaitsForNothing) {
  Queue queue(16, kForever);
  queue.Push(1);
  queue.Push(2, "other");
  queue.Push(3, "", 1, Kind::kEnd);
  queue.Push(4, "other", 1, Kind::kEnd);
  EXPECT_EQ(queue.Take(), (Batch{3, 4}));
  EXPECT_EQ(queue.size(), 2U);
  queue.Push(5, "other", 1, Kind::kEnd);
  EXPECT_EQ(queue.Take(), Batch{5});
}

TEST(BatchQueueTest, AChunkThatHurriesIsAnEnd) {
  Queue queue(16, kForever);
  queue.Push(1);
  Queue::Ticket ticket = queue.Push(2);
  Queue::Ticket taken = ticket;
  queue.Hurry("", Kind::kEnd, &ticket);
  queue.Hurry("", Kind::kEnd, &ticket);
  EXPECT_EQ(queue.Take(), Batch{2});
  queue.Hurry("", Kind::kEnd, &taken);  // no effect
  EXPECT_EQ(queue.size(), 1U);
}

// It takes those along that wait, and comes in its turn: after the chunks before it.
TEST(BatchQueueTest, ALateChunkWaitsForNoOthers) {
  FakeClock clock;
  Queue queue(16, kForever, clock.function());
  queue.Push(1);
  queue.Push(2, "", 1, Kind::kLateChunk);
  queue.Push(3, "other");
  EXPECT_EQ(queue.Take(), (Batch{1, 3, 2}));
  queue.Push(4, "", 1, Kind::kLateChunk);
  EXPECT_EQ(queue.Take(), Batch{4});
}

TEST(BatchQueueTest, AChunkThatWaitsMayBecomeLate) {
  FakeClock clock;
  Queue queue(16, kForever, clock.function());
  queue.Push(1);
  Queue::Ticket ticket = queue.Push(2);
  clock.Advance(std::chrono::milliseconds(3));
  queue.Hurry("", Kind::kLateChunk, &ticket);
  queue.Hurry("", Kind::kChunk, &ticket);  // no effect
  EXPECT_EQ(queue.Take(), (Batch{1, 2}));
  queue.Push(3);
  ticket = queue.Push(4, "", 1, Kind::kEnd);
  queue.Hurry("", Kind::kLateChunk, &ticket);  // no effect
  EXPECT_EQ(queue.Take(), Batch{4});
}

// However many late chunks an account has, those of another get their share, and an end comes
// before them.
TEST(BatchQueueTest, LateChunksTakeTurnsAsOthersDo) {
  FakeClock clock;
  Queue queue(2, kForever, clock.function());
  for (int i = 0; i < 8; ++i) queue.Push(i, "recordings", 1, Kind::kLateChunk);
  queue.Push(10, "live");
  queue.Push(11, "live");
  EXPECT_EQ(queue.Take(), (Batch{0, 10}));
  EXPECT_EQ(queue.Take(), (Batch{1, 11}));
  queue.Push(12, "recordings", 1, Kind::kEnd);
  EXPECT_EQ(queue.Take(), Batch{12});
  EXPECT_EQ(queue.Take(), (Batch{2, 3}));
}

TEST(BatchQueueTest, AnEndWakesAWorkerThatWaitsForAFullBatch) {
  Queue queue(16, kForever);
  queue.Push(1);
  Batch taken;
  std::thread worker([&] { taken = queue.Take(); });
  queue.Push(2, "", 1, Kind::kEnd);
  worker.join();
  EXPECT_EQ(taken, Batch{2});
}

TEST(BatchQueueTest, AChunkWaitsForNoEndThatComesAfterItsDeadline) {
  FakeClock clock;
  Queue queue(16, kForever, clock.function());
  queue.Push(1);
  clock.Advance(Queue::kChunkPatience);
  queue.Push(2);
  Queue::Ticket late = queue.Push(3);
  queue.Push(4, "", 1, Kind::kEnd);
  clock.Advance(std::chrono::milliseconds(1));
  queue.Push(5, "", 1, Kind::kEnd);
  EXPECT_EQ(queue.Take(), Batch{1});
  clock.Advance(std::chrono::milliseconds(1));
  queue.Hurry("", Kind::kEnd, &late);
  EXPECT_EQ(queue.Take(), (Batch{4, 5, 3}));
}

// Its ends come first, until it is ahead of its share.
TEST(BatchQueueTest, AnAccountThatEndsMuchGetsLittleMoreThanItsShare) {
  FakeClock clock;
  Queue queue(1, kForever, clock.function());
  constexpr double kCost = 0.01;
  for (int i = 0; i < 1000; ++i) queue.Push(0, "chunks", kCost);
  for (int i = 0; i < 1000; ++i) queue.Push(1, "ends", kCost, Kind::kEnd);
  int num_ends = 0;
  for (int taken = 1; taken <= 1000; ++taken) {
    num_ends += queue.Take().front();
    ASSERT_LE(kCost * (2 * num_ends - taken), Queue::kHeadStartS + 2 * kCost);
  }
  EXPECT_GE(num_ends, 500);
}

// One account against the definition: all of one kind that come before those of the other, by their
// deadlines, then by the order of their calls.
TEST(BatchQueueTest, BatchesAreThoseOfTheDeadlines) {
  std::mt19937_64 random(testing::RandomSeed(3));
  constexpr size_t kMost = 5;
  constexpr std::chrono::milliseconds kWait(10);
  FakeClock clock;
  const auto now = clock.function();
  Queue queue(kMost, kWait, now);
  struct Waiting {
    int item;
    Kind kind;
    Queue::Clock::time_point deadline;
    Queue::Clock::time_point start_by;
    Queue::Ticket ticket;
  };
  std::vector<Waiting> waiting;
  for (int64_t step = 0; step < testing::RandomSteps(20000); ++step) {
    const auto hurried =
        waiting.empty() ? waiting.end() : waiting.begin() + random() % waiting.size();
    switch (random() % 5) {
      case 0:
      case 1: {
        const auto kind = static_cast<Kind>(random() % 3);
        const bool is_end = kind == Kind::kEnd;
        const auto item = static_cast<int>(step);
        waiting.push_back({item, kind, is_end ? now() : now() + Queue::kChunkPatience,
                           kind == Kind::kChunk ? now() + kWait : now(),
                           queue.Push(item, "", 1, kind)});
        break;
      }
      case 2: {
        if (hurried == waiting.end()) break;
        const auto kind = static_cast<Kind>(random() % 3);
        queue.Hurry("", kind, &hurried->ticket);
        if (kind <= hurried->kind) break;
        hurried->kind = kind;
        if (kind == Kind::kEnd) hurried->deadline = std::min(hurried->deadline, now());
        hurried->start_by = std::min(hurried->start_by, now());
        break;
      }
      case 3:
        clock.Advance(std::chrono::milliseconds(random() % 12));
        break;
      default: {
        const bool is_due = waiting.size() >= kMost ||
                            std::any_of(waiting.begin(), waiting.end(),
                                        [&](const Waiting& one) { return one.start_by <= now(); });
        if (!is_due) break;
        std::sort(waiting.begin(), waiting.end(), [](const Waiting& a, const Waiting& b) {
          return a.deadline != b.deadline ? a.deadline < b.deadline : a.item < b.item;
        });
        const auto is_end = [&] { return waiting.front().kind == Kind::kEnd; };
        const bool takes_ends = is_end();
        Batch expected;
        while (!waiting.empty() && is_end() == takes_ends && expected.size() < kMost) {
          expected.push_back(waiting.front().item);
          waiting.erase(waiting.begin());
        }
        ASSERT_EQ(queue.Take(), expected);
      }
    }
    ASSERT_EQ(queue.size(), waiting.size());
  }
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
