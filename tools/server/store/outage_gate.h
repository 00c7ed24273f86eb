// A circuit breaker: calls to a service that does not answer fail at once for a while.
#ifndef RUNNEL_TOOLS_SERVER_STORE_OUTAGE_GATE_H_
#define RUNNEL_TOOLS_SERVER_STORE_OUTAGE_GATE_H_

#include <chrono>
#include <functional>
#include <mutex>
#include <utility>

namespace runnel::server {

// Thread-safe. Lets every call through until one fails. Then it refuses calls for `pause`, and
// after that lets one call at a time through until one succeeds.
class OutageGate {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  explicit OutageGate(std::chrono::milliseconds pause, Clock clock = std::chrono::steady_clock::now)
      : pause_(pause), clock_(std::move(clock)) {}

  // Whether a call may be made. After true, the caller reports its outcome to Leave.
  bool Enter() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_out_) return true;
    if (is_probing_ || clock_() < next_probe_) return false;
    is_probing_ = true;
    return true;
  }

  void Leave(bool has_answered) {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_out_ = !has_answered;
    is_probing_ = false;
    if (is_out_) next_probe_ = clock_() + pause_;
  }

 private:
  const std::chrono::milliseconds pause_;
  const Clock clock_;
  std::mutex mutex_;
  bool is_out_ = false;
  bool is_probing_ = false;
  std::chrono::steady_clock::time_point next_probe_;
};

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_STORE_OUTAGE_GATE_H_
