// Threads of a step: each part runs once, at the same time, and not outside of a step.
#include "encoder/cpu/kernels/step_threads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <set>
#include <thread>
#include <vector>

namespace runnel::kernels {
namespace {

std::vector<std::thread::id> ThreadsOfParts() {
  std::vector<std::thread::id> ids(static_cast<size_t>(StepThreads::Count()));
  StepThreads::ForEach(
      [&](int part) { ids[static_cast<size_t>(part)] = std::this_thread::get_id(); });
  return ids;
}

TEST(StepThreadsTest, EachPartHasAThreadOfItsOwn) {
  for (const int count : {4, 1, 2}) {
    StepTeams teams(count);
    const StepThreads threads(&teams);
    ASSERT_EQ(StepThreads::Count(), count);
    const std::vector<std::thread::id> ids = ThreadsOfParts();
    EXPECT_EQ(ids.front(), std::this_thread::get_id());
    EXPECT_EQ(std::set<std::thread::id>(ids.begin(), ids.end()).size(), static_cast<size_t>(count));
  }
  EXPECT_EQ(StepThreads::Count(), 1);
}

TEST(StepThreadsTest, TheSameThreadsServeLaterSteps) {
  StepTeams teams(3);
  std::vector<std::thread::id> first;
  {
    const StepThreads threads(&teams);
    first = ThreadsOfParts();
  }
  for (int i = 0; i < 100; ++i) {
    const StepThreads threads(&teams);
    EXPECT_EQ(ThreadsOfParts(), first);
  }
}

TEST(StepThreadsTest, PartsWaitForEachOther) {
  StepTeams teams(3);
  const StepThreads threads(&teams);
  for (int round = 0; round < 1000; ++round) {
    std::atomic<int> num_begun{0};
    StepThreads::ForEach([&](int /*part*/) {
      ++num_begun;
      while (num_begun < 3) std::this_thread::yield();  // ends only if all run at the same time
    });
    EXPECT_EQ(num_begun, 3);
  }
}

TEST(StepThreadsTest, StepsAtTheSameTimeHaveTeamsOfTheirOwn) {
  StepTeams teams(2);
  std::vector<std::thread> callers;
  std::atomic<int> num_parts{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      for (int step = 0; step < 50; ++step) {
        const StepThreads threads(&teams);
        StepThreads::ForEach([&](int /*part*/) { ++num_parts; });
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(num_parts, 4 * 50 * 2);
}

// In the libraries of Windows, a thread that waits for another while it ends waits for ever.
TEST(StepThreadsTest, AThreadEndsWithoutItsTeam) {
  StepTeams teams(2);
  std::thread::id helper;
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      const StepThreads threads(&teams);
      const std::thread::id served = ThreadsOfParts().back();
      if (i > 0) {
        EXPECT_EQ(served, helper) << "the team of the thread before is gone";
      }
      helper = served;
    }).join();
  }
}

TEST(StepThreadsTest, SplitCoversEachIndexOnce) {
  constexpr int64_t kMuch = int64_t{1} << 30;
  for (const int num_threads : {1, 2, 3, 5}) {
    StepTeams teams(num_threads);
    const StepThreads threads(&teams);
    for (const int64_t count : {0, 1, 2, 4, 7, 100}) {
      std::vector<std::atomic<int>> visits(static_cast<size_t>(count));
      std::atomic<int> num_parts{0};
      StepThreads::Split(count, kMuch, [&](int64_t begin, int64_t end) {
        ++num_parts;
        for (int64_t i = begin; i < end; ++i) ++visits[static_cast<size_t>(i)];
      });
      for (const std::atomic<int>& visit : visits) EXPECT_EQ(visit, 1);
      EXPECT_EQ(num_parts, std::clamp<int64_t>(count, 1, num_threads));
    }
  }
}

TEST(StepThreadsTest, LittleWorkStaysInThisThread) {
  StepTeams teams(2);
  const StepThreads threads(&teams);
  int num_parts = 0;
  StepThreads::Split(100, 1000, [&](int64_t begin, int64_t end) {
    ++num_parts;
    EXPECT_EQ(begin, 0);
    EXPECT_EQ(end, 100);
  });
  EXPECT_EQ(num_parts, 1);
}

TEST(StepThreadsTest, WhatAPartThrowsIsThrownToTheCaller) {
  StepTeams teams(3);
  const StepThreads threads(&teams);
  for (int thrower = 0; thrower < 3; ++thrower) {
    std::atomic<int> num_parts{0};
    const auto body = [&](int part) {
      ++num_parts;
      if (part == thrower) throw std::bad_alloc();
    };
    EXPECT_THROW(StepThreads::ForEach(body), std::bad_alloc);
    EXPECT_EQ(num_parts, 3);
    EXPECT_NO_THROW(StepThreads::ForEach([](int /*part*/) {}));
  }
}

}  // namespace
}  // namespace runnel::kernels
