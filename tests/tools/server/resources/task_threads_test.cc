// Order, turns, bounds and errors of background tasks.
#include "tools/server/resources/task_threads.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <future>
#include <stdexcept>
#include <string>

namespace runnel::server {
namespace {

// Keeps the only thread of `threads` until it is released.
class Holder {
 public:
  explicit Holder(TaskThreads* threads) {
    EXPECT_TRUE(threads->Run(
        [this] {
          has_begun_.set_value();
          go_on_.get_future().wait();
        },
        ""));
    has_begun_.get_future().wait();
  }

  void Release() { go_on_.set_value(); }

 private:
  std::promise<void> go_on_;
  std::promise<void> has_begun_;
};

TEST(TaskThreads, ThreeThatClientsWaitForStartForEachOther) {
  TaskThreads threads(1, 10, 100);
  std::promise<void> is_done;
  std::string order;
  Holder holder(&threads);
  for (const char* name : {"x", "y"}) threads.Run([&order, name] { order += name; }, "one");
  threads.Run([&] { is_done.set_value(); }, "one");
  for (const char* name : {"a", "b", "c", "d"}) {
    threads.RunFirst([&order, name] { order += name; }, "one");
  }
  holder.Release();
  is_done.get_future().wait();
  EXPECT_EQ(order, "abcxdy");
}

TEST(TaskThreads, ClientsTakeTurns) {
  TaskThreads threads(1, 10, 1000);
  std::promise<void> is_done;
  std::string order;
  Holder holder(&threads);
  for (int i = 0; i < 50; ++i) threads.RunFirst([&] { order += "a"; }, "asks much");
  threads.RunFirst([&] { order += "b"; }, "asks little");
  threads.RunFirst([&] { is_done.set_value(); }, "asks much");
  holder.Release();
  is_done.get_future().wait();
  EXPECT_LT(order.find('b'), 3U) << order;
}

TEST(TaskThreads, AThreadForEachTaskUpToTheBound) {
  TaskThreads threads(3, 0, 100);
  std::promise<void> end;
  std::shared_future<void> ended = end.get_future().share();
  std::array<std::promise<void>, 3> begun;
  for (std::promise<void>& one : begun) {
    threads.Run(
        [&one, ended] {
          one.set_value();
          ended.wait();
        },
        "client");
  }
  for (std::promise<void>& one : begun) one.get_future().wait();  // all at once
  std::promise<void> fourth;
  std::future<void> fourth_ran = fourth.get_future();
  threads.Run([&fourth] { fourth.set_value(); }, "client");
  EXPECT_EQ(fourth_ran.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  end.set_value();
  fourth_ran.wait();
}

TEST(TaskThreads, TakesNoMoreThanItsBounds) {
  TaskThreads threads(1, 10, 2);
  Holder holder(&threads);
  EXPECT_FALSE(threads.Run([] {}, "", 11));
  EXPECT_TRUE(threads.Run([] { throw std::runtime_error("logged"); }, "", 10));
  EXPECT_FALSE(threads.HasRoom(1, ""));
  std::promise<void> is_done;
  EXPECT_TRUE(threads.Run([&] { is_done.set_value(); }, ""));
  EXPECT_FALSE(threads.Run([] {}, ""));
  EXPECT_FALSE(threads.HasRoom(0, ""));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(threads.RunFirst([] {}, "")) << "which overtakes those";
  EXPECT_FALSE(threads.RunFirst([] {}, ""));
  holder.Release();
  is_done.get_future().wait();  // whatever the one before has thrown
}

TEST(TaskThreads, AClientHasAShareOfTheBounds) {
  TaskThreads threads(1, 40, 8);
  Holder holder(&threads);
  EXPECT_TRUE(threads.Run([] {}, "asks much", 10));
  EXPECT_FALSE(threads.HasRoom(1, "asks much"));
  EXPECT_FALSE(threads.Run([] {}, "asks much", 1));
  EXPECT_TRUE(threads.Run([] {}, "asks much"));
  EXPECT_FALSE(threads.Run([] {}, "asks much")) << "two of eight tasks";
  EXPECT_TRUE(threads.HasRoom(30, "asks little"));
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(threads.RunFirst([] {}, "asks much"));
  EXPECT_FALSE(threads.RunFirst([] {}, "asks much"));
  EXPECT_TRUE(threads.RunFirst([] {}, "asks little"));
  std::promise<void> is_done;
  EXPECT_TRUE(threads.Run([&] { is_done.set_value(); }, ""));
  holder.Release();
  is_done.get_future().wait();
  EXPECT_TRUE(threads.HasRoom(10, "asks much")) << "its tasks have run";
}

}  // namespace
}  // namespace runnel::server
