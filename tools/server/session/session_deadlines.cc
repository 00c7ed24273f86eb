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

void SessionDeadlines::Timeout::Begin(Time now) {
  half_start_ = now;
  is_second_half_ = false;
}

Time SessionDeadlines::Timeout::half_end() const {
  return is_under_way() ? After(half_start_, limit_s_ / 2) : Time::max();
}

bool SessionDeadlines::Timeout::HasPassed(Time now) {
  if (now < half_end()) return false;
  if (is_second_half_) return true;
  half_start_ = now;
  is_second_half_ = true;
  return false;
}

SessionDeadlines::SessionDeadlines(const Limits& limits, Time start)
    : idle_(limits.idle_timeout_s),
      start_(limits.start_timeout_s),
      silence_(limits.silence_timeout_s),
      stream_(After(start, limits.max_stream_s)) {
  idle_.Begin(start);
}

void SessionDeadlines::OnSlot(Time now) {
  start_.Begin(now);
  silence_.Begin(now);
}

Time SessionDeadlines::Next(bool is_idle_suspended) const {
  const Time next = std::min({stream_, drain_, resume_});
  if (is_idle_suspended) return next;
  return std::min({next, start_.half_end(), silence_.half_end(), idle_.half_end()});
}

Deadline SessionDeadlines::Check(bool is_idle_suspended, Time now) {
  if (was_idle_suspended_ && !is_idle_suspended) {
    for (Timeout* timeout : {&start_, &idle_}) {
      if (timeout->is_under_way()) timeout->Begin(now);
    }
  }
  was_idle_suspended_ = is_idle_suspended;
  if (now >= stream_) return Deadline::kStream;
  if (now >= drain_) return Deadline::kDrain;
  if (now >= resume_) return Deadline::kResume;
  if (is_idle_suspended) return Deadline::kNone;
  if (start_.HasPassed(now)) return Deadline::kStart;
  if (silence_.HasPassed(now)) return Deadline::kSilence;
  return idle_.HasPassed(now) ? Deadline::kIdle : Deadline::kNone;
}

}  // namespace runnel::server
