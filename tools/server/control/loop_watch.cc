#include "tools/server/control/loop_watch.h"

#include <algorithm>
#include <boost/asio/post.hpp>

namespace runnel::server {

LoopWatch::LoopWatch(const std::vector<boost::asio::io_context*>& loops) {
  for (boost::asio::io_context* loop : loops) {
    loops_.push_back({loop, std::make_shared<std::atomic<bool>>(true), {}});
  }
}

void LoopWatch::Ask(Clock::time_point now) {
  for (Watched& watched : loops_) {
    if (!*watched.has_answered) continue;
    *watched.has_answered = false;
    watched.asked_at = now;
    boost::asio::post(*watched.loop, [answer = watched.has_answered] { *answer = true; });
  }
}

double LoopWatch::SilenceS(Clock::time_point now) const {
  std::chrono::duration<double> longest{0};
  for (const Watched& watched : loops_) {
    if (!*watched.has_answered)
      longest = std::max<decltype(longest)>(longest, now - watched.asked_at);
  }
  return longest.count();
}

}  // namespace runnel::server
