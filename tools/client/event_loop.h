// The event loop of a client: all connections and timers run in one thread.
#ifndef RUNNEL_TOOLS_CLIENT_EVENT_LOOP_H_
#define RUNNEL_TOOLS_CLIENT_EVENT_LOOP_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace runnel::client {

using Clock = std::chrono::steady_clock;

// All callbacks are called from within Run. Only Post and Stop may be called from other threads.
class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Returns after Stop, or when no callback is pending. Throws what callbacks throw.
  void Run();
  void Stop();
  void Post(std::function<void()> callback);

  // From now on SIGINT and SIGTERM stop the loop instead of ending the process; Run returns after
  // Stop only.
  void StopAtSignals();
  bool was_interrupted() const { return was_interrupted_; }

  boost::asio::io_context& context() { return context_; }

 private:
  boost::asio::io_context context_;
  std::optional<boost::asio::signal_set> signals_;
  bool was_interrupted_ = false;
};

// Calls back once each time it is set; never after Cancel or the destructor.
class Timer {
 public:
  Timer(EventLoop* loop, std::function<void()> callback);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Replaces the moment set before.
  void Set(Clock::time_point moment);
  void SetAfter(double seconds);
  void Cancel();

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_EVENT_LOOP_H_
