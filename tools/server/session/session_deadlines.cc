#include "tools/server/session/session_deadlines.h"

#include <algorithm>

#include "tools/cli/seconds.h"

namespace runnel::server {
namespace {

using Time = SessionDeadlines::Time;

// A limit of 0 is none.
Time After(Time start, double limit_s) {
  return limit_s > 0 ? start + Seconds(limit_s) : Time::max();
}

}  // namespace

SessionDeadlines::SessionDeadlines(const Limits& limits, Time start)
    : idle_timeout_s_(limits.idle_timeout_s),
      stream_(After(start, limits.max_stream_s)),
      idle_half_start_(start) {}

void SessionDeadlines::BeginIdleTimeout(Time now) {
  idle_half_start_ = now;
  is_second_idle_half_ = false;
}

Time SessionDeadlines::idle_half_end() const {
  return After(idle_half_start_, idle_timeout_s_ / 2);
}

Time SessionDeadlines::Next(bool is_idle_suspended) const {
  const Time next = std::min({stream_, drain_, resume_});
  return is_idle_suspended ? next : std::min(next, idle_half_end());
}

Deadline SessionDeadlines::Check(bool is_idle_suspended, Time now) {
  if (was_idle_suspended_ && !is_idle_suspended) BeginIdleTimeout(now);
  was_idle_suspended_ = is_idle_suspended;
  if (now >= stream_) return Deadline::kStream;
  if (now >= drain_) return Deadline::kDrain;
  if (now >= resume_) return Deadline::kResume;
  if (is_idle_suspended || now < idle_half_end()) return Deadline::kNone;
  if (is_second_idle_half_) return Deadline::kIdle;
  idle_half_start_ = now;
  is_second_idle_half_ = true;
  return Deadline::kNone;
}

}  // namespace runnel::server
