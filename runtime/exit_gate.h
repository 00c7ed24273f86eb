// Keeps exit() from taking LibTorch away under the threads that compute with it.
// Flow: packets -> frontend -> encoder -> runtime (this, below recognizer) -> tools.
#ifndef RUNNEL_RUNTIME_EXIT_GATE_H_
#define RUNNEL_RUNTIME_EXIT_GATE_H_

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace runnel {

// A program may end while recognizers are alive: main returns or somebody calls exit(), which
// destroys the static objects of every library while the other threads go on. A thread that was
// inside LibTorch then crashed, or waited for ever for a lock that nobody would give back. So
// threads compute inside this gate only, and exit() closes it. Thread-safe.
class ExitGate {
 public:
  // The one that exit() closes. Never destroyed: threads wait at it until the process is gone.
  static ExitGate& OfProcess();

  // exit() closes the gate before it destroys what was there when this was called: to be called
  // when a model has computed something, which may have made static objects anew. A child that a
  // process forks has none of its threads, and does not wait for them. Throws std::system_error
  // when no thread can be started.
  static void CloseAtExit();

  // A thread's way through the gate; it is outside again when this is destroyed.
  class Pass {
   public:
    // Steps in. `given_up` is set, before WakeUp, by whoever waits for the thread to end.
    Pass(ExitGate* gate, const std::atomic<bool>* given_up) : gate_(*gate), given_up_(*given_up) {
      StepIn();
    }
    ~Pass() { StepOut(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    // Waits while the gate is closed; stays outside when `given_up` ends that.
    void StepIn();
    // For work that may take any time, such as a callback: exit() does not wait for it.
    void StepOut();
    bool is_inside() const { return is_inside_; }

   private:
    ExitGate& gate_;
    const std::atomic<bool>& given_up_;
    bool is_inside_ = false;
  };

  // Nobody steps in any more; returns when nobody is inside.
  void Close();
  // Those who wait at the closed gate look at `given_up` again.
  void WakeUp();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closed_ = false;
  int num_inside_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_EXIT_GATE_H_
