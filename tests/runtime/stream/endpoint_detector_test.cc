// The rules that end an utterance, on frames that the test makes.
#include "runtime/stream/endpoint_detector.h"

#include <gtest/gtest.h>

namespace runnel {
namespace {

constexpr double kFrameMs = 40;
constexpr float kSilent = 0;  // the log probability of the blank
constexpr float kSound = -10;
constexpr int kNever = 1000;  // more frames than any test has

// The number of silent frames after which an utterance ends, after a frame of sound.
int NumSilentFrames(double initial_s, double silence_s, bool has_tokens) {
  EndpointOptions options;
  options.rules[0].min_silence_s = initial_s;
  options.rules[1].min_silence_s = silence_s;
  options.rules[2].min_utterance_s = EndpointOptions::kMaxSeconds;
  EndpointDetector detector(options, kFrameMs);
  EXPECT_FALSE(detector.Advance(kSound, has_tokens));
  for (int count = 1; count < kNever; ++count) {
    if (detector.Advance(kSilent, has_tokens)) return count;
  }
  return kNever;
}

TEST(EndpointDetector, SilenceAfterSpeechAndWithoutSpeechAreIndependent) {
  EXPECT_EQ(NumSilentFrames(2.4, 1.2, /*has_tokens=*/true), 30);
  EXPECT_EQ(NumSilentFrames(2.4, 1.2, /*has_tokens=*/false), 60);
  EXPECT_EQ(NumSilentFrames(2.4, 5, /*has_tokens=*/true), 125);
  EXPECT_EQ(NumSilentFrames(2.4, 5, /*has_tokens=*/false), 60);
  EXPECT_EQ(NumSilentFrames(0.4, 1.2, /*has_tokens=*/true), 30);
  EXPECT_EQ(NumSilentFrames(0.4, 1.2, /*has_tokens=*/false), 10);
}

TEST(EndpointDetector, TheLengthEndsAnyUtterance) {
  EndpointOptions options;
  options.rules[2].min_utterance_s = 0.4;
  for (const bool has_tokens : {false, true}) {
    EndpointDetector detector(options, kFrameMs);
    for (int frame = 1; frame < 10; ++frame) EXPECT_FALSE(detector.Advance(kSound, has_tokens));
    EXPECT_TRUE(detector.Advance(kSound, has_tokens));
  }
}

}  // namespace
}  // namespace runnel
