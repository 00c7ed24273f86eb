// When a session pauses its client, what it waits for next, and when it gives up.
#include <algorithm>
#include <iterator>

#include "tools/decimal.h"
#include "tools/seconds.h"
#include "tools/server/live_session.h"

namespace runnel::server {
namespace {

using Clock = LiveSession::Clock;

constexpr Pause kAllPauses[] = {Pause::kBuffer, Pause::kSpeed, Pause::kSendQueue};

}  // namespace

bool LiveSession::IsPausedBy(Pause reason) const {
  switch (reason) {
    case Pause::kBuffer:
      return !held_.empty();
    case Pause::kSpeed:
      return AudioAllowedAt() > Clock::now();
    case Pause::kSendQueue:
      return outgoing_bytes_ + mailbox_->update_bytes() > services_.limits.max_send_queue_bytes;
  }
  return false;
}

bool LiveSession::IsPaused() const {
  return !waiting_.empty() || finishing_.has_value() ||
         std::any_of(std::begin(kAllPauses), std::end(kAllPauses),
                     [this](Pause reason) { return IsPausedBy(reason); });
}

// Whether the client may be silent because of us.
bool LiveSession::IsBlocked() const { return is_resuming_ || IsPaused(); }

void LiveSession::CountPauses() {
  for (const Pause reason : kAllPauses) {
    bool& is_counted = is_pause_counted_[static_cast<size_t>(reason)];
    const bool is_paused = !close_code_.has_value() && IsPausedBy(reason);
    if (is_paused && !is_counted) services_.metrics->CountPause(reason);
    is_counted = is_paused;
  }
}

// The end of a pause because of max_speed: max_buffered_s may come at once, then so much per
// second.
Clock::time_point LiveSession::AudioAllowedAt() const {
  const double speed = services_.limits.max_speed;
  if (speed <= 0 || stream_ == nullptr || !first_audio_.has_value())
    return Clock::time_point::min();
  const double audio_s = static_cast<double>(num_received_) / stream_->options().sample_rate_hz;
  const double ahead_s = audio_s - services_.limits.max_buffered_s;
  if (ahead_s <= 0) return Clock::time_point::min();
  return *first_audio_ + Seconds(ahead_s / speed);
}

Clock::time_point LiveSession::NextDeadline() const {
  if (close_code_.has_value() || finishing_.has_value()) return Clock::time_point::max();
  Clock::time_point deadline = Clock::time_point::max();
  const Limits& limits = services_.limits;
  if (limits.max_stream_s > 0) deadline = std::min(deadline, start_ + Seconds(limits.max_stream_s));
  const Clock::time_point allowed = AudioAllowedAt();
  if (allowed > Clock::now()) deadline = std::min(deadline, allowed);
  if (is_resuming_) deadline = std::min(deadline, resume_deadline_);
  deadline = std::min(deadline, drain_deadline_);
  if (limits.idle_timeout_s > 0 && !finish_.has_value() && !IsBlocked()) {
    deadline = std::min(deadline, last_message_ + Seconds(limits.idle_timeout_s));
  }
  return deadline;
}

void LiveSession::CheckTime() {
  if (close_code_.has_value()) return;
  const Clock::time_point now = Clock::now();
  const Limits& limits = services_.limits;
  if (limits.max_stream_s > 0 && now >= start_ + Seconds(limits.max_stream_s)) {
    services_.metrics->CountRejection(Rejection::kTimeLimit);
    return Fail(ErrorCode::kTimeLimit,
                "the connection lasts longer than " + Decimal(limits.max_stream_s, 1) + " s");
  }
  if (now >= drain_deadline_) return FailDraining();
  if (is_resuming_ && now >= resume_deadline_) {
    return Fail(ErrorCode::kStoreUnavailable, "the store of snapshots does not answer within " +
                                                  Decimal(services_.resume_patience_s, 1) + " s");
  }
  const bool is_blocked = IsBlocked();
  if (was_blocked_ && !is_blocked) last_message_ = now;  // until now we did not listen
  was_blocked_ = is_blocked;
  if (limits.idle_timeout_s > 0 && !finish_.has_value() && !is_blocked &&
      now >= last_message_ + Seconds(limits.idle_timeout_s)) {
    services_.metrics->CountRejection(Rejection::kIdle);
    Fail(ErrorCode::kIdleTimeout, "no message for " + Decimal(limits.idle_timeout_s, 1) + " s");
  }
}

}  // namespace runnel::server
