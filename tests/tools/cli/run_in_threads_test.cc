// Work in several threads, and its exceptions.
#include "tools/cli/run_in_threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "tests/support/error_message.h"

namespace runnel {
namespace {

TEST(RunInThreadsTest, EveryThreadWorks) {
  std::atomic<int> calls{0};
  RunInThreads(
      5, [&] { ++calls; }, [] { ADD_FAILURE() << "stopped without a failure"; });
  EXPECT_EQ(calls, 5);
}

TEST(RunInThreadsTest, AFailureStopsTheOthersAndIsThrown) {
  std::atomic<bool> stopped{false};
  std::atomic<int> calls{0};
  const std::string message = testing::ErrorMessage<std::runtime_error>([&] {
    RunInThreads(
        4,
        [&] {
          if (++calls == 3) throw std::runtime_error("the third");
          while (!stopped) {
          }
        },
        [&] { stopped = true; });
  });
  EXPECT_EQ(message, "the third");
}

}  // namespace
}  // namespace runnel
