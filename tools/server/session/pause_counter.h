// Counts how often a session stops reading from its client.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_PAUSE_COUNTER_H_
#define RUNNEL_TOOLS_SERVER_SESSION_PAUSE_COUNTER_H_

#include <array>
#include <cstddef>

#include "tools/server/resources/metrics.h"

namespace runnel::server {

// Counts each pause once, however often it is observed.
class PauseCounter {
 public:
  // `metrics` outlives the counter.
  explicit PauseCounter(Metrics* metrics) : metrics_(metrics) {}

  void Observe(Pause reason, bool is_paused) {
    bool& was_paused = was_paused_[static_cast<size_t>(reason)];
    if (is_paused && !was_paused) metrics_->CountPause(reason);
    was_paused = is_paused;
  }

 private:
  Metrics* const metrics_;
  std::array<bool, kNumPauses> was_paused_{};
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_PAUSE_COUNTER_H_
