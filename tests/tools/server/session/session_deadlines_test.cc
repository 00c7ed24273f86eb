// Deadlines of a session, on a clock that the test sets.
#include "tools/server/session/session_deadlines.h"

#include <gtest/gtest.h>

#include "tools/cli/seconds.h"

namespace runnel::server {
namespace {

using Time = SessionDeadlines::Time;

Time At(double seconds) { return Time() + Seconds(seconds); }

Limits Timeouts(double idle_s, double stream_s) {
  Limits limits;
  limits.idle_timeout_s = idle_s;
  limits.max_stream_s = stream_s;
  return limits;
}

TEST(SessionDeadlines, AnIdleSessionEnds) {
  SessionDeadlines deadlines(Timeouts(10, 100), At(1));
  EXPECT_EQ(deadlines.Next(false), At(6));
  EXPECT_EQ(deadlines.Check(false, At(6)), Deadline::kNone);
  EXPECT_EQ(deadlines.Next(false), At(11));
  EXPECT_EQ(deadlines.Check(false, At(10.9)), Deadline::kNone);
  deadlines.OnMessage(At(10.9));
  EXPECT_EQ(deadlines.Check(false, At(15.9)), Deadline::kNone);
  EXPECT_EQ(deadlines.Check(false, At(20.8)), Deadline::kNone);
  EXPECT_EQ(deadlines.Check(false, At(20.9)), Deadline::kIdle);
}

TEST(SessionDeadlines, AServerThatWasBusyReadsBeforeItEndsASession) {
  SessionDeadlines deadlines(Timeouts(10, 1000), At(0));
  EXPECT_EQ(deadlines.Check(false, At(30)), Deadline::kNone) << "the server has not read since 0";
  EXPECT_EQ(deadlines.Next(false), At(35));
  deadlines.OnMessage(At(30.1));
  EXPECT_EQ(deadlines.Check(false, At(50)), Deadline::kNone);
  EXPECT_EQ(deadlines.Check(false, At(54.9)), Deadline::kNone);
  EXPECT_EQ(deadlines.Check(false, At(55)), Deadline::kIdle) << "there was nothing to read";
}

TEST(SessionDeadlines, TheIdleTimeoutBeginsAnewAfterASuspension) {
  SessionDeadlines deadlines(Timeouts(10, 100), At(0));
  EXPECT_EQ(deadlines.Next(true), At(100));
  EXPECT_EQ(deadlines.Check(true, At(50)), Deadline::kNone);
  EXPECT_EQ(deadlines.Check(false, At(60)), Deadline::kNone);
  EXPECT_EQ(deadlines.Next(false), At(65));
  EXPECT_EQ(deadlines.Check(false, At(65)), Deadline::kNone);
  EXPECT_EQ(deadlines.Next(false), At(70));
  EXPECT_EQ(deadlines.Check(false, At(70)), Deadline::kIdle);
}

TEST(SessionDeadlines, AStreamHasALongestTime) {
  SessionDeadlines deadlines(Timeouts(10, 100), At(0));
  deadlines.OnMessage(At(99));
  EXPECT_EQ(deadlines.Next(false), At(100));
  EXPECT_EQ(deadlines.Check(true, At(100)), Deadline::kStream);
}

TEST(SessionDeadlines, ASlotIsForAudio) {
  Limits limits = Timeouts(100, 0);
  limits.start_timeout_s = 10;
  limits.silence_timeout_s = 60;
  SessionDeadlines without_slot(limits, At(0));
  EXPECT_EQ(without_slot.Next(false), At(50));
  SessionDeadlines deadlines(limits, At(0));
  deadlines.OnSlot(At(0));
  EXPECT_EQ(deadlines.Next(false), At(5));
  EXPECT_EQ(deadlines.Check(false, At(5)), Deadline::kNone);
  deadlines.OnMessage(At(9));
  EXPECT_EQ(deadlines.Check(false, At(9.9)), Deadline::kNone);
  EXPECT_EQ(deadlines.Check(false, At(10)), Deadline::kStart) << "a ping is no start";
  deadlines.ClearStart();
  EXPECT_EQ(deadlines.Next(false), At(30));
  EXPECT_EQ(deadlines.Check(false, At(30)), Deadline::kNone);
  deadlines.OnProgress(At(31));
  EXPECT_EQ(deadlines.Check(false, At(61)), Deadline::kNone);
  deadlines.OnMessage(At(90));
  EXPECT_EQ(deadlines.Check(false, At(91)), Deadline::kSilence) << "a ping is no audio";
}

TEST(SessionDeadlines, AServerThatIsLateWaitsForTheStart) {
  Limits limits = Timeouts(0, 0);
  limits.start_timeout_s = 10;
  SessionDeadlines deadlines(limits, At(0));
  deadlines.OnSlot(At(0));
  EXPECT_EQ(deadlines.Check(false, At(12)), Deadline::kNone);
  EXPECT_EQ(deadlines.Next(false), At(17));
  deadlines.ClearStart();
  EXPECT_EQ(deadlines.Check(true, At(1000)), Deadline::kNone);
}

TEST(SessionDeadlines, ZeroIsNoLimit) {
  SessionDeadlines deadlines(Timeouts(0, 0), At(0));
  EXPECT_EQ(deadlines.Next(false), Time::max());
  EXPECT_EQ(deadlines.Check(false, At(1e9)), Deadline::kNone);
}

TEST(SessionDeadlines, ResumeAndDrain) {
  SessionDeadlines deadlines(Timeouts(0, 0), At(0));
  deadlines.SetResume(At(5));
  EXPECT_EQ(deadlines.Next(true), At(5));
  EXPECT_EQ(deadlines.Check(true, At(4)), Deadline::kNone);
  EXPECT_EQ(deadlines.Check(true, At(5)), Deadline::kResume);
  deadlines.SetDrain(At(2));
  EXPECT_EQ(deadlines.Next(true), At(2));
  EXPECT_EQ(deadlines.Check(true, At(5)), Deadline::kDrain) << "which comes first";
  deadlines.ClearResume();
  EXPECT_EQ(deadlines.Check(true, At(1.9)), Deadline::kNone);
  EXPECT_EQ(deadlines.Check(true, At(2)), Deadline::kDrain);
}

}  // namespace
}  // namespace runnel::server
