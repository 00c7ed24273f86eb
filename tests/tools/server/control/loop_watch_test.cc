// Event loops that turn and one that does not, on a clock that the test sets.
#include "tools/server/control/loop_watch.h"

#include <gtest/gtest.h>

namespace runnel::server {
namespace {

using Time = LoopWatch::Clock::time_point;

Time At(int seconds) { return Time() + std::chrono::seconds(seconds); }

TEST(LoopWatch, TellsHowLongTheLatestLoopIsSilent) {
  boost::asio::io_context turns;
  boost::asio::io_context hangs;
  LoopWatch watch({&turns, &hangs});
  EXPECT_EQ(watch.SilenceS(At(0)), 0);
  for (int now = 0; now < 3; ++now) {
    watch.Ask(At(now));
    turns.restart();
    turns.poll();
  }
  EXPECT_EQ(watch.SilenceS(At(3)), 3) << "since the first question";
  hangs.poll();
  EXPECT_EQ(watch.SilenceS(At(3)), 0);
  watch.Ask(At(4));
  turns.restart();
  turns.poll();
  EXPECT_EQ(watch.SilenceS(At(6)), 2);
}

}  // namespace
}  // namespace runnel::server
