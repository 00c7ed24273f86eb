// Order, bounds and errors of background tasks.
#include "tools/server/resources/task_threads.h"

#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <string>

namespace runnel::server {
namespace {

TEST(TaskThreads, WhatSomebodyWaitsForIsFirst) {
  TaskThreads threads(1, 10, 10);
  std::promise<void> go_on;
  std::promise<void> has_begun;
  std::promise<void> is_done;
  std::string order;
  threads.Run([&] {
    has_begun.set_value();
    go_on.get_future().wait();
  });
  has_begun.get_future().wait();
  threads.Run([&] { order += "c"; });
  threads.Run([&] { is_done.set_value(); });
  threads.RunFirst([&] { order += "a"; });
  threads.RunFirst([&] { order += "b"; });
  go_on.set_value();
  is_done.get_future().wait();
  EXPECT_EQ(order, "abc");
}

TEST(TaskThreads, TakesNoMoreThanItsBounds) {
  TaskThreads threads(1, 10, 2);
  std::promise<void> go_on;
  std::promise<void> has_begun;
  EXPECT_TRUE(threads.Run([&] {
    has_begun.set_value();
    go_on.get_future().wait();
  }));
  has_begun.get_future().wait();
  EXPECT_FALSE(threads.Run([] {}, 11));
  EXPECT_TRUE(threads.Run([] { throw std::runtime_error("logged"); }, 10));
  EXPECT_FALSE(threads.HasRoom(1));
  std::promise<void> is_done;
  EXPECT_TRUE(threads.Run([&] { is_done.set_value(); }));
  EXPECT_FALSE(threads.Run([] {}));
  EXPECT_FALSE(threads.HasRoom(0));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(threads.RunFirst([] {})) << "which overtakes those";
  EXPECT_FALSE(threads.RunFirst([] {}));
  go_on.set_value();
  is_done.get_future().wait();  // whatever the one before has thrown
}

}  // namespace
}  // namespace runnel::server
