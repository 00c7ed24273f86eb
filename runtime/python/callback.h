// A function of Python that threads of C++ call and free.
#ifndef RUNNEL_RUNTIME_PYTHON_CALLBACK_H_
#define RUNNEL_RUNTIME_PYTHON_CALLBACK_H_

#include <cxxabi.h>
#include <pybind11/pybind11.h>

#include <memory>
#include <utility>

#include "runtime/python/gil.h"

namespace runnel::python {

// Copies share the function. Copying, calling and destroying need no GIL.
class Callback {
 public:
  // Needs the GIL.
  explicit Callback(pybind11::function function)
      : function_(new pybind11::function(std::move(function)), &Free) {}

  // Calls the function with the objects that `make` make while the GIL is held. An exception goes
  // to sys.unraisablehook: the threads that call have no use for it.
  template <typename... Make>
  void Call(const Make&... make) const noexcept {
    const InCallback in_callback;
    const TakenGil gil;
    // A reference that the garbage collector sees: `make` may let it run in another thread.
    const pybind11::function function = *function_;
    try {
      function(make()...);
    } catch (pybind11::error_already_set& error) {
      error.discard_as_unraisable(function);
    } catch (abi::__forced_unwind&) {  // the interpreter ends
      StopThread();
    }
  }

  // The function while a copy of this object lives.
  std::weak_ptr<const pybind11::function> Watch() const { return function_; }

  // Whether this thread is in a callback now.
  static bool IsRunning() { return depth_ > 0; }

 private:
  struct InCallback {
    InCallback() { ++depth_; }
    ~InCallback() { --depth_; }
  };

  static void Free(pybind11::function* function) {
    // Without an interpreter the function cannot be freed; its memory ends with the process.
    if (Py_IsInitialized() == 0) return;
    const TakenGil gil;
    delete function;
  }

  inline static thread_local int depth_ = 0;
  std::shared_ptr<const pybind11::function> function_;
};

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_CALLBACK_H_
