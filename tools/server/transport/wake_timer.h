// The times at which a connection acts by itself: when it wakes, and when it pings its client.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_WAKE_TIMER_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_WAKE_TIMER_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace runnel::server {

// A member of its connection, used on the connection's strand.
class WakeTimer {
 public:
  using Clock = std::chrono::steady_clock;

  explicit WakeTimer(const boost::asio::any_io_executor& executor) : timer_(executor) {}

  // To be called once, before WakeBy. `on_time` is called as long as `owner` lives, and the timer
  // with it.
  void SetHandler(std::weak_ptr<void> owner, std::function<void()> on_time) {
    owner_ = std::move(owner);
    on_time_ = std::move(on_time);
  }

  // Wakes at `deadline` or before; the handler looks at the clock, and calls WakeBy again.
  void WakeBy(Clock::time_point deadline) {
    // A timer that is set for an earlier time arms itself again.
    if (deadline >= armed_for_) return;
    armed_for_ = deadline;
    timer_.expires_at(deadline);
    timer_.async_wait([this, owner = owner_](const boost::system::error_code& error) {
      const auto held = owner.lock();
      if (error || held == nullptr) return;
      armed_for_ = Clock::time_point::max();
      on_time_();
    });
  }

  void Cancel() { timer_.cancel(); }

 private:
  boost::asio::steady_timer timer_;
  std::weak_ptr<void> owner_;
  std::function<void()> on_time_;
  Clock::time_point armed_for_ = Clock::time_point::max();
};

// While nothing is read, only the answer to something sent tells that a client has gone: its system
// refuses what a program no longer takes. Used by one thread at a time.
class PingTimes {
 public:
  using Clock = std::chrono::steady_clock;

  // To be called after every event.
  void Update(bool is_reading) {
    if (is_reading) {
      next_ = Clock::time_point::max();
    } else if (next_ == Clock::time_point::max()) {
      next_ = Clock::now() + kStep;
    }
  }

  // Whether a ping is to be sent now. The next one is later.
  bool Take() {
    const Clock::time_point now = Clock::now();
    if (now < next_) return false;
    next_ = now + kStep;
    return true;
  }

  // Clock::time_point::max() while the client is read from.
  Clock::time_point next() const { return next_; }

 private:
  static constexpr std::chrono::seconds kStep{5};

  Clock::time_point next_ = Clock::time_point::max();
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_WAKE_TIMER_H_
