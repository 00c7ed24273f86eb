// A connection's strand: wakes it at a time, and calls functions from other threads on it.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_WAKE_TIMER_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_WAKE_TIMER_H_

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/post.hpp>
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

// For a LiveConnection. A function calls another one on the strand of `executor`.
inline std::function<void(std::function<void()>)> StrandExecutor(
    const boost::asio::any_io_executor& executor) {
  return [executor](std::function<void()> work) { boost::asio::post(executor, std::move(work)); };
}

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_WAKE_TIMER_H_
