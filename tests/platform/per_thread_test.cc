// Objects of threads: each thread has one, which is whole until its destructor has run.
#include "platform/per_thread.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace runnel {
namespace {

TEST(PerThreadTest, EachThreadHasItsOwnUntilItEnds) {
  static std::atomic<int> num_ended{0};
  struct Counter {
    ~Counter() { num_ended += value; }
    int value = 0;
  };
  Counter& own = PerThread<Counter>();
  for (int i = 1; i <= 3; ++i) {
    std::thread([&] {
      Counter& other = PerThread<Counter>();
      EXPECT_NE(&other, &own);
      EXPECT_EQ(&other, &PerThread<Counter>());
      EXPECT_EQ(other.value, 0);
      other.value = i;
    }).join();
  }
  EXPECT_EQ(num_ended, 1 + 2 + 3);
  EXPECT_EQ(&PerThread<Counter>(), &own);
}

// Freed memory would be given to somebody else.
TEST(PerThreadTest, TheMemoryOfAnObjectIsFreedAfterItsDestructor) {
  static std::atomic<int> num_overlaps{0};
  static std::atomic<int> num_ended{0};
  struct Object {
    ~Object() {
      std::vector<std::unique_ptr<std::byte[]>> others;
      for (size_t size = 8; size < 2 * sizeof(Object); size += 8) {
        for (int i = 0; i < 3; ++i) {
          others.push_back(std::make_unique<std::byte[]>(size));
          const auto other = reinterpret_cast<uintptr_t>(others.back().get());
          const auto own = reinterpret_cast<uintptr_t>(this);
          if (other < own + sizeof(Object) && own < other + size) ++num_overlaps;
        }
      }
      ++num_ended;
    }
    std::byte content[200] = {};
  };
  for (int i = 0; i < 3; ++i) std::thread([] { PerThread<Object>(); }).join();
  EXPECT_EQ(num_ended, 3);
  EXPECT_EQ(num_overlaps, 0);
}

}  // namespace
}  // namespace runnel
