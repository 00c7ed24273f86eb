// The speed at which audio is read, on a clock that the test sets.
#include "tools/server/session/audio_pacer.h"

#include <gtest/gtest.h>

#include "tools/cli/seconds.h"

namespace runnel::server {
namespace {

using Time = AudioPacer::Time;

constexpr int kRate = 8000;

Time At(double seconds) { return Time() + Seconds(seconds); }

TEST(AudioPacer, ABurstIsReadAtAnySpeed) {
  AudioPacer pacer(/*max_speed=*/2, /*burst_s=*/3);
  EXPECT_EQ(pacer.NextAudioAt(), Time::min());
  pacer.OnAudio(3 * kRate, kRate, At(10));
  EXPECT_EQ(pacer.NextAudioAt(), Time::min());
}

TEST(AudioPacer, FurtherAudioIsReadAtTheSpeed) {
  AudioPacer pacer(/*max_speed=*/2, /*burst_s=*/3);
  pacer.OnAudio(3 * kRate, kRate, At(10));
  pacer.OnAudio(4 * kRate, kRate, At(10.5));
  EXPECT_EQ(pacer.NextAudioAt(), At(12));  // 4 s beyond the burst, counted from the first sample on
  pacer.OnAudio(kRate, kRate, At(20));
  EXPECT_EQ(pacer.NextAudioAt(), At(12.5));
}

TEST(AudioPacer, ZeroIsNoLimit) {
  AudioPacer pacer(/*max_speed=*/0, /*burst_s=*/3);
  pacer.OnAudio(100 * kRate, kRate, At(10));
  EXPECT_EQ(pacer.NextAudioAt(), Time::min());
}

}  // namespace
}  // namespace runnel::server
