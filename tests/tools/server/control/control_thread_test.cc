// The thread that ends the process when another one does not end.
#include "tools/server/control/control_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <future>
#include <memory>

namespace runnel::server {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(ControlThread, DoesWorkUntilItIsEnded) {
  boost::asio::io_context loop;
  ControlThread control({&loop});
  control.Start();
  bool was_done = false;
  control.Do([&] { was_done = true; });
  EXPECT_TRUE(was_done);
  std::promise<void> later;
  control.Do([&] { control.After(milliseconds(1), [&] { later.set_value(); }); });
  later.get_future().wait();
  control.Do([&] {
    EXPECT_EQ(control.HungS(), 0);
    control.After(hours(1), [] { FAIL() << "dropped"; });
  });
}

TEST(ControlThread, TakesSignals) {
  boost::asio::io_context loop;
  ControlThread control({&loop});
  std::promise<void> twice;
  int num_ends = 0;
  int num_reloads = 0;
  control.OnSignals(
      [&] {
        if (++num_ends == 2) return twice.set_value();
        ::kill(::getpid(), SIGINT);
      },
      [&] {
        ++num_reloads;
        ::kill(::getpid(), SIGTERM);
      });
  control.Start();
  ::kill(::getpid(), SIGHUP);
  twice.get_future().wait();
  EXPECT_EQ(num_reloads, 1);
}

TEST(ControlThreadDeathTest, EndsTheProcessWhenAThreadHangs) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        boost::asio::io_context loop;
        ControlThread control({&loop});
        control.EndProcessWithin(hours(1));
        control.EndProcessWithin(milliseconds(1));
        control.EndProcessWithin(hours(2));
        control.Start();
        std::promise<void>().get_future().wait();  // hangs
      },
      testing::ExitedWithCode(EXIT_FAILURE), "a thread of the server does not end");
}

TEST(ControlThread, DoesNotEndAProcessWhoseThreadsEnd) {
  boost::asio::io_context loop;
  ControlThread control({&loop});
  control.EndProcessWithin(hours(1));
  control.Start();
}

}  // namespace
}  // namespace runnel::server
