// Runs many sessions at the same time and gathers their statistics.
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
  SessionOptions session;   // except seed and first_server, which differ for each stream
  int64_t num_streams = 1;  // at the same time
  double ramp_s = 0;        // time over which they start, evenly spaced
  int64_t rounds = 1;       // recordings that each stream sends, one after another
  double duration_s = 0;    // replaces rounds if above 0: no recording starts later
  double behind_s = 2;      // latency above which a stream has fallen behind
};

// Starts at once. Calls `on_done` in the loop when the last stream has ended. All recordings are
// used equally often: stream i begins with recording i and advances by num_streams recordings.
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
  class Slot;

  EventLoop* const loop_;
  Connector* const connector_;
  const LoadOptions options_;
  const std::vector<LoadRecording>& recordings_;
  LoadStatistics* const statistics_;
  const std::function<void()> on_done_;
  const Clock::time_point begin_;
  std::vector<std::unique_ptr<Slot>> slots_;
  int64_t num_active_;  // slots whose last stream has not ended
};

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_LOAD_RUN_H_
