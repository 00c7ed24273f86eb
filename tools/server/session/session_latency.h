// Measures the latencies of a session: of a chunk, of the first text, of the final result.
#ifndef RUNNEL_TOOLS_SERVER_SESSION_SESSION_LATENCY_H_
#define RUNNEL_TOOLS_SERVER_SESSION_SESSION_LATENCY_H_

#include <chrono>
#include <optional>

#include "tools/server/resources/metrics.h"
#include "tools/server/session/outgoing_queue.h"

namespace runnel::server {

// Each latency ends when a message has been sent; Metrics says where it begins. Reads no clock: the
// caller passes the time.
class SessionLatency {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `metrics` outlives this object.
  explicit SessionLatency(Metrics* metrics) : metrics_(metrics) {}

  void OnAudio(Time now);
  // The client said that no more audio comes.
  void OnFinish(Time now) { finish_ = now; }
  void OnSent(const ResultInfo& result, Time now);

 private:
  Metrics* const metrics_;
  std::optional<Time> first_audio_;
  std::optional<Time> finish_;
  bool has_sent_text_ = false;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SESSION_SESSION_LATENCY_H_
