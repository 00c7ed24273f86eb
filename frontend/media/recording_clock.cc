#include "frontend/media/recording_clock.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace runnel {
namespace {

// Times of packets are rounded, and those of live recordings are a little late or early: FFmpeg's
// limit, too.
constexpr int64_t kToleratedMs = 100;
// Nobody notices that a track begins so much later than another one.
constexpr int64_t kStartMs = 20;
// A longer time is no gap where times may begin anew (FFmpeg's limit), and no overlap anywhere.
constexpr int64_t kJumpS = 10;

int64_t Bounded(int64_t time) { return std::clamp(time, -kMostTime, kMostTime); }

}  // namespace

RecordingClock::RecordingClock(int rate_hz, std::optional<int64_t> earliest, bool may_begin_anew,
                               int64_t most_silence_s)
    : rate_hz_(rate_hz), may_begin_anew_(may_begin_anew), most_silence_s_(most_silence_s) {
  if (earliest.has_value()) earliest_ = Bounded(*earliest);
}

int64_t RecordingClock::SilenceBefore(int64_t time, int64_t num_samples) {
  time = Bounded(time);
  const bool is_first = !zero_.has_value();
  if (is_first) {
    const bool is_late = time - earliest_.value_or(time) > kStartMs * rate_hz_ / 1000;
    zero_ = num_samples == 0 && is_late ? *earliest_ : time - num_samples;
  }
  const int64_t ahead = time - TimeAfter(num_samples);
  const int64_t gap = ahead + overlap_;
  if (std::exchange(is_at_joint_, false)) {
    *zero_ += gap;
    return 0;
  }
  if (!is_first && std::abs(gap) <= kToleratedMs * rate_hz_ / 1000) return 0;
  const bool is_far = std::abs(gap) > kJumpS * rate_hz_;
  const bool is_jump = gap < 0 ? is_far || may_begin_anew_ : is_far && may_begin_anew_;
  if (!is_first && is_jump) {
    Add(num_samples, &jumps_);
    *zero_ += gap;
    return 0;
  }
  if (gap < 0) Add(num_samples, &overlaps_);
  overlap_ = std::max<int64_t>(-ahead, 0);
  const int64_t silence = std::max<int64_t>(ahead, 0);
  if (silence > most_silence_s_ * rate_hz_ - num_silent_) {
    throw std::runtime_error("has a gap of " + std::to_string(silence / rate_hz_) +
                             " s in its times after sample " + std::to_string(num_samples) +
                             ", expected gaps of at most " + std::to_string(most_silence_s_) +
                             " s in all");
  }
  num_silent_ += silence;
  return silence;
}

size_t RecordingClock::TakeOverlap(size_t count) {
  const int64_t taken = std::min(static_cast<int64_t>(count), overlap_);
  overlap_ -= taken;
  num_left_out_ += taken;
  return static_cast<size_t>(taken);
}

void RecordingClock::Add(int64_t num_samples, Places* places) {
  if (places->count++ == 0) places->first = num_samples;
}

std::string RecordingClock::Describe(const Places& places) const {
  char seconds[32];
  std::snprintf(seconds, sizeof(seconds), "%.2f s", static_cast<double>(places.first) / rate_hz_);
  if (places.count == 1) return std::string("after ") + seconds;
  return "at " + std::to_string(places.count) + " places, first after " + seconds;
}

std::vector<std::string> RecordingClock::Warnings() const {
  std::vector<std::string> warnings;
  if (overlaps_.count > 0) {
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.2f s",
                  static_cast<double>(num_left_out_) / rate_hz_);
    warnings.push_back("has packets with the times of others: " + std::string(seconds) +
                       " are left out, " + Describe(overlaps_));
  }
  if (jumps_.count > 0) {
    warnings.push_back("has times that begin anew " + Describe(jumps_) +
                       ", so a gap there is not known");
  }
  return warnings;
}

}  // namespace runnel
