// Finds out whether the network threads still turn.
#ifndef RUNNEL_TOOLS_SERVER_CONTROL_LOOP_WATCH_H_
#define RUNNEL_TOOLS_SERVER_CONTROL_LOOP_WATCH_H_

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <memory>
#include <vector>

namespace runnel::server {

// Posts a task to each event loop and sees when it has run. Used by one thread, which is none of
// those of the loops. Reads no clock: the caller passes the time.
class LoopWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // The loops outlive it.
  explicit LoopWatch(const std::vector<boost::asio::io_context*>& loops);

  // Posts to the loops that have answered. To be called every second or so.
  void Ask(Clock::time_point now);

  // For how long the loop that is latest has not answered; 0 when all have.
  double SilenceS(Clock::time_point now) const;

 private:
  struct Watched {
    boost::asio::io_context* loop;
    std::shared_ptr<std::atomic<bool>> has_answered;
    Clock::time_point asked_at;
  };
  std::vector<Watched> loops_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_CONTROL_LOOP_WATCH_H_
