// The deadlines of a session: which comes next, and which has passed.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_SESSION_DEADLINES_H_
#define RUNNEL_TOOLS_SERVER_SESSION_SESSION_DEADLINES_H_

#include <chrono>

#include "tools/server/resources/limits.h"

namespace runnel::server {

enum class Deadline {
  kNone,
  kStream,  // max_stream_s
  kDrain,   // for the last snapshot of a server that shuts down
  kResume,  // for the snapshot store
  kIdle     // idle_timeout_s
};

// Reads no clock: the caller passes the time. Time::max() means never.
class SessionDeadlines {
 public:
  using Time = std::chrono::steady_clock::time_point;

  SessionDeadlines(const Limits& limits, Time start);

  // The client sent a message: the idle timeout begins anew.
  void OnMessage(Time now) { BeginIdleTimeout(now); }

  void SetDrain(Time deadline) { drain_ = deadline; }
  void SetResume(Time deadline) { resume_ = deadline; }
  void ClearResume() { resume_ = Time::max(); }

  // `is_idle_suspended`: the client cannot be expected to send anything now.
  Time Next(bool is_idle_suspended) const;

  // The deadline that has passed; of several, the first in the order of the enum. The idle timeout
  // begins anew with the first call after a suspension. It has two halves, and the second begins
  // with the first call after the end of the first: a server that was busy for the whole timeout
  // has the time of a half to read what the client sent meanwhile.
  Deadline Check(bool is_idle_suspended, Time now);

 private:
  void BeginIdleTimeout(Time now);
  Time idle_half_end() const;

  const double idle_timeout_s_;
  const Time stream_;
  Time drain_ = Time::max();
  Time resume_ = Time::max();
  Time idle_half_start_;
  bool is_second_idle_half_ = false;
  bool was_idle_suspended_ = false;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_SESSION_DEADLINES_H_
