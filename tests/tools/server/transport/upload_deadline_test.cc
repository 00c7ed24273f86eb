#include "tools/server/transport/upload_deadline.h"

#include <gtest/gtest.h>

namespace runnel::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(UploadDeadline, PassesAfterTheLimitOfTheBody) {
  const UploadDeadline::Clock::time_point start{seconds(1000)};
  const UploadDeadline deadline(start, 300, 60);
  EXPECT_FALSE(deadline.HasPassed(start));
  EXPECT_FALSE(deadline.HasPassed(start + milliseconds(299'999)));
  EXPECT_TRUE(deadline.HasPassed(start + seconds(300)));
}

TEST(UploadDeadline, GivesUpAnIdleReadOrOneAfterTheDeadline) {
  const UploadDeadline::Clock::time_point start{seconds(1000)};
  const UploadDeadline deadline(start, 300, 60);
  EXPECT_EQ(deadline.ReadUntil(start), start + seconds(60));
  EXPECT_EQ(deadline.ReadUntil(start + seconds(200)), start + seconds(260));
  EXPECT_EQ(deadline.ReadUntil(start + seconds(280)), start + seconds(302));
  const UploadDeadline without_idle_timeout(start, 300, 0);
  EXPECT_EQ(without_idle_timeout.ReadUntil(start), start + seconds(302));
}

}  // namespace
}  // namespace runnel::server
