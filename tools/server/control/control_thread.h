// The thread of a server that works for no client: signals, health, the end of the process.
#ifndef RUNNEL_TOOLS_SERVER_CONTROL_CONTROL_THREAD_H_
#define RUNNEL_TOOLS_SERVER_CONTROL_CONTROL_THREAD_H_

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tools/server/control/loop_watch.h"
#include "tools/server/control/service_manager.h"

namespace runnel::server {

// Watches the network threads, and tells systemd every second that they work. Methods are called on
// the thread, or before Start, unless they say otherwise.
class ControlThread {
 public:
  // `loops`: of the network threads; they outlive this object.
  explicit ControlThread(const std::vector<boost::asio::io_context*>& loops);
  // Ends the thread, from another one. Work that waits for its time is dropped.
  ~ControlThread();
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  // The event loop of the thread.
  boost::asio::io_context& io() { return io_; }

  // `on_end` is called for each SIGTERM and SIGINT, `on_reload` for each SIGHUP.
  void OnSignals(std::function<void()> on_end, std::function<void()> on_reload);

  // Starts the thread. The server is ready: systemd is told.
  void Start();

  // Calls `work` on the thread and waits for its end. From another thread, after Start.
  void Do(const std::function<void()>& work);

  // Calls `work` after this time.
  void After(std::chrono::steady_clock::duration time, std::function<void()> work);

  // For how long an event loop has not answered, when that is too long; otherwise 0. A loop answers
  // while one of its threads does.
  double HungS() const;

  // The process ends after this time, with a line in the log, unless this object ends before.
  // Called again: the earlier time counts.
  void EndProcessWithin(std::chrono::steady_clock::duration time);

  void Tell(const std::string& state) { manager_.Tell(state); }

 private:
  void Watch();

  boost::asio::io_context io_{1};
  LoopWatch watch_;
  ServiceManager manager_;
  boost::asio::signal_set signals_{io_, SIGTERM, SIGINT, SIGHUP};
  boost::asio::steady_timer end_timer_{io_};
  std::thread thread_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_CONTROL_CONTROL_THREAD_H_
