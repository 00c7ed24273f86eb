#include "runtime/live/exit_gate.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <future>
#include <thread>
#include <vector>

namespace runnel {
namespace {

using Pass = ExitGate::Pass;

TEST(ExitGateTest, CloseWaitsForThoseInside) {
  ExitGate gate;
  const std::atomic<bool> given_up{false};
  std::atomic<int> num_inside{0};
  std::vector<std::promise<void>> let_go(4);
  std::vector<std::promise<void>> entered(4);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < let_go.size(); ++i) {
    threads.emplace_back([&, i] {
      Pass pass(&gate, &given_up);
      ++num_inside;
      entered[i].set_value();
      let_go[i].get_future().wait();
      --num_inside;
    });
  }
  for (std::promise<void>& promise : entered) promise.get_future().wait();
  std::thread closing([&] {
    gate.Close();
    EXPECT_EQ(num_inside, 0);
  });
  // Until Close has begun; from then on a thread that gives up stays outside.
  const std::atomic<bool> gives_up{true};
  while (Pass(&gate, &gives_up).is_inside()) std::this_thread::yield();
  for (std::promise<void>& promise : let_go) promise.set_value();
  closing.join();
  for (std::thread& thread : threads) thread.join();
}

TEST(ExitGateTest, CloseDoesNotWaitForThoseWhoSteppedOut) {
  ExitGate gate;
  const std::atomic<bool> given_up{false};
  Pass pass(&gate, &given_up);
  EXPECT_TRUE(pass.is_inside());
  pass.StepIn();  // is inside
  pass.StepOut();
  pass.StepOut();
  EXPECT_FALSE(pass.is_inside());
  gate.Close();
}

TEST(ExitGateTest, NobodyStepsIntoAClosedGate) {
  ExitGate gate;
  std::atomic<bool> given_up{false};
  gate.Close();
  std::atomic<bool> is_past{false};
  std::thread late([&] {
    const Pass pass(&gate, &given_up);
    EXPECT_FALSE(pass.is_inside());
    is_past = true;
  });
  gate.WakeUp();  // without a reason: it waits on
  EXPECT_FALSE(is_past);
  given_up = true;
  gate.WakeUp();
  late.join();
  EXPECT_TRUE(is_past);
}

#ifndef RUNNEL_SANITIZE  // whose own threads and locks a child lacks, and takes what they held for
                         // lost
// A child process has a copy of the gate with a thread inside, but not the thread.
TEST(ExitGateTest, AForkedChildDoesNotWait) {
  constexpr int kStatus = 7;
  const std::atomic<bool> given_up{false};
  ExitGate::CloseAtExit();
  const ExitGate* const gate_of_parent = &ExitGate::OfProcess();
  std::promise<void> entered;
  std::promise<void> let_go;
  std::thread inside([&] {
    const Pass pass(&ExitGate::OfProcess(), &given_up);
    entered.set_value();
    let_go.get_future().wait();
  });
  entered.get_future().wait();
  for (const int num_threads : {0, 2}) {
    const pid_t child = fork();
    if (child == 0) {
      std::vector<std::thread> threads;
      for (int i = 0; i < num_threads; ++i) {
        threads.emplace_back([&] {
          const Pass pass(&ExitGate::OfProcess(), &given_up);
          if (&ExitGate::OfProcess() == gate_of_parent || !pass.is_inside()) std::_Exit(1);
        });
      }
      for (std::thread& thread : threads) thread.join();
      if (&ExitGate::OfProcess() == gate_of_parent) std::_Exit(1);
      std::exit(kStatus);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), kStatus);
  }
  let_go.set_value();
  inside.join();
}
#endif

}  // namespace
}  // namespace runnel
