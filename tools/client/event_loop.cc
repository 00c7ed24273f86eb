#include "tools/client/event_loop.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <cstdint>
#include <utility>

namespace runnel::client {

EventLoop::EventLoop() = default;
EventLoop::~EventLoop() = default;

void EventLoop::Run() {
  context_.restart();
  context_.run();
}

void EventLoop::Stop() { context_.stop(); }

void EventLoop::Post(std::function<void()> callback) {
  boost::asio::post(context_, std::move(callback));
}

void EventLoop::StopAtSignals() {
  signals_.emplace(context_, SIGINT, SIGTERM);
  signals_->async_wait([this](const boost::system::error_code& error, int /*signal*/) {
    if (error) return;
    was_interrupted_ = true;
    signals_->clear();  // a second signal ends the process
    Stop();
  });
}

// Asio calls back a wait that has expired even if it is cancelled afterwards, so waits are
// numbered.
struct Timer::State {
  State(boost::asio::io_context* context, std::function<void()> on_time)
      : timer(*context), callback(std::move(on_time)) {}

  boost::asio::steady_timer timer;
  std::function<void()> callback;
  uint64_t number = 0;  // of the latest wait
};

Timer::Timer(EventLoop* loop, std::function<void()> callback)
    : state_(std::make_shared<State>(&loop->context(), std::move(callback))) {}

Timer::~Timer() { Cancel(); }

void Timer::Set(Clock::time_point moment) {
  state_->timer.expires_at(moment);
  state_->timer.async_wait(
      [state = state_, number = ++state_->number](const boost::system::error_code& error) {
        if (!error && number == state->number) state->callback();
      });
}

void Timer::SetAfter(double seconds) {
  Set(Clock::now() +
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds)));
}

void Timer::Cancel() {
  ++state_->number;
  state_->timer.cancel();
}

}  // namespace runnel::client
