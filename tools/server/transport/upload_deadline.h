// How long the server waits for the body of an upload.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_UPLOAD_DEADLINE_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_UPLOAD_DEADLINE_H_

#include <algorithm>
#include <chrono>

#include "tools/cli/seconds.h"

namespace runnel::server {

class UploadDeadline {
 public:
  using Clock = std::chrono::steady_clock;

  // `max_upload_s`: for the whole body, from `start` on. `idle_timeout_s`: between two pieces of
  // it; 0: no limit.
  UploadDeadline(Clock::time_point start, double max_upload_s, double idle_timeout_s)
      : deadline_(start + Seconds(max_upload_s)), idle_timeout_s_(idle_timeout_s) {}

  bool HasPassed(Clock::time_point now) const { return now >= deadline_; }

  // When a read that starts now is given up. A client that still sends is told of the deadline; the
  // extra time lets its next piece arrive first.
  Clock::time_point ReadUntil(Clock::time_point now) const {
    const Clock::time_point last = deadline_ + std::chrono::seconds(2);
    return idle_timeout_s_ > 0 ? std::min(last, now + Seconds(idle_timeout_s_)) : last;
  }

 private:
  const Clock::time_point deadline_;
  const double idle_timeout_s_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_UPLOAD_DEADLINE_H_
