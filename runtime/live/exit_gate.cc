#include "runtime/live/exit_gate.h"

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace runnel {
namespace {

std::atomic<pid_t> registered_by{0};
// Threads of the parent may be inside its gate, or hold its lock: this process needs another one.
std::atomic<bool> was_forked{false};

void CloseUnlessForked() {
  if (getpid() == registered_by) ExitGate::OfProcess().Close();
}

}  // namespace

ExitGate& ExitGate::OfProcess() {
  static std::atomic<ExitGate*> gate{new ExitGate};
  if (was_forked.exchange(false)) gate = new ExitGate;
  return *gate;
}

void ExitGate::CloseAtExit() {
  const pid_t before = registered_by.exchange(getpid());
  if (before != 0 && before != getpid()) was_forked = true;
  // Fails only when there is no memory; the process then ends without the gate.
  std::atexit(CloseUnlessForked);
}

void ExitGate::Pass::StepIn() {
  if (is_inside_) return;
  std::unique_lock<std::mutex> lock(gate_.mutex_);
  gate_.changed_.wait(lock, [this] { return !gate_.is_closed_ || given_up_; });
  if (gate_.is_closed_) return;
  is_inside_ = true;
  ++gate_.num_inside_;
}

void ExitGate::Pass::StepOut() {
  if (!is_inside_) return;
  is_inside_ = false;
  {
    const std::lock_guard<std::mutex> lock(gate_.mutex_);
    --gate_.num_inside_;
  }
  gate_.changed_.notify_all();
}

void ExitGate::Close() {
  std::unique_lock<std::mutex> lock(mutex_);
  is_closed_ = true;
  changed_.wait(lock, [this] { return num_inside_ == 0; });
}

void ExitGate::WakeUp() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
  }  // no thread is between its check and its wait
  changed_.notify_all();
}

}  // namespace runnel
