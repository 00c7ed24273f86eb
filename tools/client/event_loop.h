// The one thread in which a client's connections and timers run.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below client/connection).
#ifndef RUNNEL_TOOLS_CLIENT_EVENT_LOOP_H_
#define RUNNEL_TOOLS_CLIENT_EVENT_LOOP_H_

#include <chrono>
#include <functional>
#include <memory>

namespace boost::asio {
class io_context;
}

namespace runnel::client {

using Clock = std::chrono::steady_clock;

// Everything that is called back is called from within Run. Only Post and Stop may be called from
// other threads.
class EventLoop {
 public:
  EventLoop();
  ~EventLoop();
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;

  // Returns after Stop, or when nothing is left that could call back. Throws what callbacks throw.
  void Run();
  void Stop();
  void Post(std::function<void()> callback);

  boost::asio::io_context& context() { return *context_; }

 private:
  const std::unique_ptr<boost::asio::io_context> context_;
};

// Calls back at one moment, again and again if set again; never after Cancel or its end.
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
