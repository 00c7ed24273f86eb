// Lets a host process call exit() while the workers of a Recognizer compute.
//
// exit() destroys the static objects of every library while other threads run on. A thread inside
// LibTorch then crashes, or waits for ever for a lock. A host cannot always destroy its
// recognizers first: Python calls exit() while objects are alive, and main may return while other
// threads hold a recognizer. So a worker computes inside this gate only, and an exit handler closes
// the gate before the static objects go.
#ifndef RUNNEL_RUNTIME_LIVE_EXIT_GATE_H_
#define RUNNEL_RUNTIME_LIVE_EXIT_GATE_H_

#include <atomic>
#include <condition_variable>
#include <mutex>

namespace runnel {

// Thread-safe.
class ExitGate {
 public:
  // The gate that exit() closes. Never destroyed: threads wait at it until the process has ended. A
  // child process of fork, which has none of the threads, begins with a new gate.
  static ExitGate& OfProcess();

  // Registers the exit handler. It runs before the destructors of static objects that exist now, so
  // call it when a model is loaded and before threads compute.
  static void CloseAtExit();

  // One thread inside the gate, until this is destroyed.
  class Pass {
   public:
    // Steps in. To end a thread that waits at the closed gate, set `given_up` and call WakeUp.
    Pass(ExitGate* gate, const std::atomic<bool>* given_up) : gate_(*gate), given_up_(*given_up) {
      StepIn();
    }
    ~Pass() { StepOut(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    // Waits while the gate is closed. Returns, still outside, once `given_up` is set.
    void StepIn();
    // Before work that may take any time, such as a callback: exit() does not wait for it.
    void StepOut();
    bool is_inside() const { return is_inside_; }

   private:
    ExitGate& gate_;
    const std::atomic<bool>& given_up_;
    bool is_inside_ = false;
  };

  // No thread steps in any more. Returns when no thread is inside.
  void Close();
  // Threads that wait at the closed gate check `given_up` again.
  void WakeUp();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_closed_ = false;
  int num_inside_ = 0;
};

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_EXIT_GATE_H_
