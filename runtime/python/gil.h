// The GIL, given back and taken again by threads that may outlive the interpreter.
//
// CPython 3.11 to 3.13 end a thread that takes the GIL while the interpreter ends, by pthread_exit.
// Its unwinding must not pass C++ frames: their destructors are noexcept and change objects of
// Python. The classes below stop such a thread for good instead, as CPython 3.14 does
// (PyEval_RestoreThread, "Cautions regarding runtime finalization").
#ifndef RUNNEL_RUNTIME_PYTHON_GIL_H_
#define RUNNEL_RUNTIME_PYTHON_GIL_H_

#include <cxxabi.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "runtime/python/object.h"

namespace runnel::python {

// Waits until the process ends.
[[noreturn]] inline void StopThread() {
  while (true) pause();
}

// Returns take(), which takes the GIL; stops the thread when CPython would end it.
template <typename Take>
auto TakeGil(const Take& take) {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    StopThread();
  }
}

// Lives while this thread runs code of the module and has the GIL.
class GilHolder {
 public:
  GilHolder() : before_(std::exchange(is_held_, true)) {}
  ~GilHolder() { is_held_ = before_; }
  GilHolder(const GilHolder&) = delete;
  GilHolder& operator=(const GilHolder&) = delete;

  // Whether this thread has the GIL. (Not all of the versions of Python that the module serves
  // tell.)
  static bool IsHeld() { return is_held_; }

 private:
  friend class ReleasedGil;

  inline static thread_local bool is_held_ = false;
  const bool before_;
};

// Gives the GIL back for the lifetime of the object.
class ReleasedGil {
 public:
  ReleasedGil() : state_(PyEval_SaveThread()) { GilHolder::is_held_ = false; }
  ~ReleasedGil() {
    TakeGil([this] { PyEval_RestoreThread(state_); });
    GilHolder::is_held_ = true;
  }
  ReleasedGil(const ReleasedGil&) = delete;
  ReleasedGil& operator=(const ReleasedGil&) = delete;

 private:
  PyThreadState* const state_;
};

// Takes the GIL for the lifetime of the object, in any thread. A thread that has it keeps it.
class TakenGil {
 public:
  TakenGil() : state_(TakeGil(&Ensure)) {}
  ~TakenGil() { PyGILState_Release(state_); }
  TakenGil(const TakenGil&) = delete;
  TakenGil& operator=(const TakenGil&) = delete;

 private:
  static PyGILState_STATE Ensure() {
    // CPython cannot give a thread its first state any more. The thread that ends the interpreter
    // has one.
    if (Py_IsInitialized() == 0 && PyGILState_GetThisThreadState() == nullptr) StopThread();
    return PyGILState_Ensure();
  }

  const PyGILState_STATE state_;
  const GilHolder holder_;
};

// How long a call computes or waits before it looks for signals, such as Ctrl-C.
constexpr std::chrono::milliseconds kSignalInterval(100);

// Raises what the handlers of signals raise. Needs the GIL.
inline void RaiseSignals() {
  if (PyErr_CheckSignals() != 0) throw ExceptionIsSet();
}

// For a long computation without the GIL: Look raises as above, once per kSignalInterval. Other
// threads than the first one of the process never handle signals, and do not wait for the GIL.
class SignalWatch {
 public:
  void Look() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_ || gettid() != getpid()) return;
    next_ = now + kSignalInterval;
    const TakenGil gil;
    RaiseSignals();
  }

 private:
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kSignalInterval;
};

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_GIL_H_
