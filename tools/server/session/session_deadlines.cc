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
      idle_since_(start) {}

Time SessionDeadlines::idle_deadline() const { return After(idle_since_, idle_timeout_s_); }

Time SessionDeadlines::Next(bool is_idle_suspended) const {
  const Time next = std::min({stream_, drain_, resume_});
  return is_idle_suspended ? next : std::min(next, idle_deadline());
}

Deadline SessionDeadlines::Check(bool is_idle_suspended, Time now) {
  if (was_idle_suspended_ && !is_idle_suspended) idle_since_ = now;
  was_idle_suspended_ = is_idle_suspended;
  if (now >= stream_) return Deadline::kStream;
  if (now >= drain_) return Deadline::kDrain;
  if (now >= resume_) return Deadline::kResume;
  if (!is_idle_suspended && now >= idle_deadline()) return Deadline::kIdle;
  return Deadline::kNone;
}

}  // namespace runnel::server
