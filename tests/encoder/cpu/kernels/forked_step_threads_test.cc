// Threads of a step in a process that fork() made.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "encoder/cpu/kernels/step_threads.h"

namespace runnel::kernels {
namespace {

// The child of fork() has none of the threads, and must neither wait for them nor end them.
TEST(ForkedStepThreadsTest, TheChildHasThreadsOfItsOwn) {
  if (std::getenv("RUNNEL_SANITIZE") != nullptr) GTEST_SKIP() << "sanitizers watch one process";
  StepTeams teams(3);
  const auto run = [&teams] {
    const StepThreads threads(&teams);
    std::atomic<int> num_parts{0};
    StepThreads::ForEach([&](int /*part*/) { ++num_parts; });
    return num_parts.load();
  };
  EXPECT_EQ(run(), 3);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool is_right = false;
    std::thread([&] { is_right = run() == 3; }).join();
    is_right = is_right && run() == 3;
    _exit(is_right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(run(), 3);
}

}  // namespace
}  // namespace runnel::kernels
