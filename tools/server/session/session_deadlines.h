// The deadlines of a session: which comes next, and which has passed.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_SESSION_DEADLINES_H_
#define RUNNEL_TOOLS_SERVER_SESSION_SESSION_DEADLINES_H_

#include <chrono>

#include "tools/server/resources/limits.h"

namespace runnel::server {

enum class Deadline {
  kNone,
  kStream,   // max_stream_s
  kDrain,    // for the last snapshot of a server that shuts down
  kResume,   // for the snapshot store
  kStart,    // start_timeout_s
  kSilence,  // silence_timeout_s
  kIdle      // idle_timeout_s
};

// Reads no clock: the caller passes the time. Time::max() means never.
class SessionDeadlines {
 public:
  using Time = std::chrono::steady_clock::time_point;

  SessionDeadlines(const Limits& limits, Time start);

  // The session holds a slot from now on: the client must start a stream, and then send audio.
  void OnSlot(Time now);
  // The client has started a stream, or may start it when it likes.
  void ClearStart() { start_.End(); }
  // The client sent audio, or may send it again after it had to wait.
  void OnProgress(Time now) { silence_.Begin(now); }

  // The client sent a message: the idle timeout begins anew.
  void OnMessage(Time now) { idle_.Begin(now); }

  void SetDrain(Time deadline) { drain_ = deadline; }
  void SetResume(Time deadline) { resume_ = deadline; }
  void ClearResume() { resume_ = Time::max(); }

  // `is_idle_suspended`: the client cannot be expected to send anything now.
  Time Next(bool is_idle_suspended) const;

  // The deadline that has passed; of several, the first in the order of the enum. Those for the
  // next message (kStart, kIdle) begin anew with the first call after a suspension. Each timeout of
  // a client that sends nothing has two halves, and the second begins with the first call after the
  // end of the first: a server that was busy for the whole timeout has the time of a half to read
  // what the client sent meanwhile.
  Deadline Check(bool is_idle_suspended, Time now);

 private:
  // A timeout of two halves.
  class Timeout {
   public:
    explicit Timeout(double limit_s) : limit_s_(limit_s) {}
    void Begin(Time now);
    void End() { half_start_ = Time::max(); }
    bool is_under_way() const { return limit_s_ > 0 && half_start_ != Time::max(); }
    // Of the present half; Time::max() when it is not under way.
    Time half_end() const;
    // Begins the second half when the first has passed.
    bool HasPassed(Time now);

   private:
    double limit_s_;  // 0: no limit
    Time half_start_ = Time::max();
    bool is_second_half_ = false;
  };

  Timeout idle_;
  Timeout start_;
  Timeout silence_;
  const Time stream_;
  Time drain_ = Time::max();
  Time resume_ = Time::max();
  bool was_idle_suspended_ = false;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_SESSION_DEADLINES_H_
