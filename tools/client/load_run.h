// Many sessions side by side, each stream after another in its place, and what came of them.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below load_client).
#ifndef RUNNEL_TOOLS_CLIENT_LOAD_RUN_H_
#define RUNNEL_TOOLS_CLIENT_LOAD_RUN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/client/load_statistics.h"
#include "tools/client/session.h"

namespace runnel::client {

struct LoadRecording {
  std::string id;
  std::shared_ptr<const AudioTrack> track;
  std::optional<std::string> expected;  // text
};

struct LoadOptions {
  SessionOptions session;   // its seed and first_server are each stream's own
  int64_t num_streams = 1;  // at the same time
  double ramp_s = 0;        // in which they start, evenly
  int64_t rounds = 1;       // recordings one after another in the place of a stream
  double duration_s = 0;    // instead of rounds, if not 0: no recording starts later than that
  double behind_s = 2;      // a partial or final that is later has fallen behind
};

// Starts at once; `on_done` is called in the loop when the last stream has ended. Every recording
// is used equally often: stream i begins with recording i, and each goes on num_streams further.
class LoadRun {
 public:
  LoadRun(EventLoop* loop, Connector* connector, const LoadOptions& options,
          const std::vector<LoadRecording>& recordings, LoadStatistics* statistics,
          std::function<void()> on_done);
  ~LoadRun();
  LoadRun(const LoadRun&) = delete;
  LoadRun& operator=(const LoadRun&) = delete;

  int64_t num_active() const { return num_active_; }

 private:
  class Place;

  EventLoop* const loop_;
  Connector* const connector_;
  const LoadOptions options_;
  const std::vector<LoadRecording>& recordings_;
  LoadStatistics* const statistics_;
  const std::function<void()> on_done_;
  const Clock::time_point begin_;
  std::vector<std::unique_ptr<Place>> places_;
  int64_t num_active_;  // places whose last stream has not ended
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_LOAD_RUN_H_
