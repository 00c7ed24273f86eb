#include "runtime/live/exit_gate.h"

#include <atomic>
#include <cstdlib>

#include "platform/process.h"

namespace runnel {
namespace {

std::atomic<ExitGate*> gate_of_process{nullptr};

void MakeGate() { gate_of_process = new ExitGate; }

}  // namespace

ExitGate& ExitGate::OfProcess() {
  // Threads of the parent may be inside its gate, or hold its lock: a child needs another one.
  [[maybe_unused]] static const bool is_made = [] {
    MakeGate();
    CallInForkedChildren(MakeGate);
    return true;
  }();
  return *gate_of_process;
}

void ExitGate::CloseAtExit() {
  OfProcess();  // before any fork that follows
  // Fails only when there is no memory; the process then ends without the gate.
  std::atexit([] { OfProcess().Close(); });
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
