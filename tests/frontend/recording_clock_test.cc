// Where a recording's samples are placed, by the times of its packets.
#include "frontend/media/recording_clock.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace runnel {
namespace {

constexpr int kRateHz = 1000;  // so that a sample is a millisecond
constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
constexpr bool kMayBeginAnew = true;

RecordingClock Clock(bool may_begin_anew, std::optional<int64_t> earliest = std::nullopt) {
  return {kRateHz, earliest, may_begin_anew, kMostSilenceS};
}

TEST(RecordingClockTest, TheFirstTimeIsTheZero) {
  RecordingClock clock = Clock(!kMayBeginAnew);
  EXPECT_FALSE(clock.has_times());
  EXPECT_EQ(clock.SilenceBefore(7000, 0), 0);
  EXPECT_TRUE(clock.has_times());
  EXPECT_EQ(clock.TimeAfter(300), 7300);
}

TEST(RecordingClockTest, ATrackThatBeginsLaterHasSilenceBefore) {
  EXPECT_EQ(Clock(!kMayBeginAnew, 5000).SilenceBefore(5500, 0), 500);
  EXPECT_EQ(Clock(!kMayBeginAnew, 5000).SilenceBefore(5020, 0), 0);
  EXPECT_EQ(Clock(!kMayBeginAnew, 5000).SilenceBefore(4000, 0), 0);
}

TEST(RecordingClockTest, GapsAreSilence) {
  RecordingClock clock = Clock(!kMayBeginAnew);
  EXPECT_EQ(clock.SilenceBefore(0, 0), 0);
  EXPECT_EQ(clock.SilenceBefore(1100, 1000), 0);  // a rounded time
  EXPECT_EQ(clock.SilenceBefore(1101, 1000), 101);
  EXPECT_EQ(clock.SilenceBefore(30000, 2000), 28000);
  EXPECT_TRUE(clock.Warnings().empty());
}

TEST(RecordingClockTest, SamplesWithTheTimesOfOthersAreLeftOut) {
  RecordingClock clock = Clock(!kMayBeginAnew);
  EXPECT_EQ(clock.SilenceBefore(0, 0), 0);
  EXPECT_EQ(clock.TakeOverlap(1000), 0U);
  EXPECT_EQ(clock.SilenceBefore(500, 1000), 0);
  EXPECT_EQ(clock.TakeOverlap(300), 300U);
  EXPECT_EQ(clock.SilenceBefore(800, 1000), 0);  // which go on as they should
  EXPECT_EQ(clock.TakeOverlap(300), 200U);
  EXPECT_EQ(clock.TakeOverlap(300), 0U);
  EXPECT_EQ(clock.Warnings(),
            std::vector<std::string>{"has packets with the times of others: 0.50 s are left out, "
                                     "after 1.00 s"});
}

TEST(RecordingClockTest, Jumps) {
  for (const bool may_begin_anew : {false, true}) {
    RecordingClock clock = Clock(may_begin_anew);
    EXPECT_EQ(clock.SilenceBefore(20000, 0), 0);
    EXPECT_EQ(clock.SilenceBefore(0, 1000), 0);  // back, by more than any overlap
    EXPECT_EQ(clock.TakeOverlap(100), 0U);
    EXPECT_EQ(clock.SilenceBefore(20000, 1000), may_begin_anew ? 0 : 20000);
    EXPECT_EQ(clock.Warnings(),
              std::vector<std::string>{
                  "has times that begin anew " +
                  std::string(may_begin_anew ? "at 2 places, first after" : "after") +
                  " 1.00 s, so a gap there is not known"});
  }
}

TEST(RecordingClockTest, AJointHasNoGap) {
  RecordingClock clock = Clock(!kMayBeginAnew);
  EXPECT_EQ(clock.SilenceBefore(0, 0), 0);
  clock.OnJoint();
  EXPECT_EQ(clock.SilenceBefore(5000, 1000), 0);
  EXPECT_EQ(clock.SilenceBefore(6500, 2000), 500);
  EXPECT_TRUE(clock.Warnings().empty());
}

TEST(RecordingClockTest, TheSilenceOfAllGapsIsLimited) {
  RecordingClock clock(kRateHz, std::nullopt, !kMayBeginAnew, kMostLiveSilenceS);
  EXPECT_EQ(clock.SilenceBefore(0, 0), 0);
  EXPECT_EQ(clock.SilenceBefore(3599000, 0), 3599000);
  EXPECT_EQ(clock.SilenceBefore(3600000, 3599000), 1000);
  try {
    clock.SilenceBefore(3600101, 3600000);
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()),
              "has a gap of 0 s in its times after sample 3600000, expected gaps of at most 3600 s "
              "in all");
  }
}

// Of forged files. A sanitizer would report a number that does not fit.
TEST(RecordingClockTest, ExtremeTimes) {
  for (const bool may_begin_anew : {false, true}) {
    for (const int64_t earliest : {kLowest, int64_t{0}, kHighest}) {
      for (const int64_t first : {kLowest, int64_t{0}, kHighest}) {
        for (const int64_t second : {kLowest, int64_t{0}, kHighest}) {
          RecordingClock clock = Clock(may_begin_anew, earliest);
          int64_t num_samples = 0;
          for (const int64_t time : {first, second, first}) {
            try {
              const int64_t silence = clock.SilenceBefore(time, num_samples);
              EXPECT_GE(silence, 0);
              EXPECT_LE(silence, kMostSilenceS * kRateHz);
              num_samples += silence + 100 - static_cast<int64_t>(clock.TakeOverlap(100));
            } catch (const std::runtime_error& error) {
              EXPECT_NE(std::string(error.what()).find("has a gap of "), std::string::npos);
            }
            clock.OnJoint();
          }
          EXPECT_LE(num_samples, kMostSilenceS * kRateHz + 300);
        }
      }
    }
  }
}

}  // namespace
}  // namespace runnel
