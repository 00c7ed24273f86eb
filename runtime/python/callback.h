// A function of Python that threads of C++ call and free.
#ifndef RUNNEL_RUNTIME_PYTHON_CALLBACK_H_
#define RUNNEL_RUNTIME_PYTHON_CALLBACK_H_

#include <cxxabi.h>

#include <memory>
#include <utility>

#include "runtime/python/gil.h"
#include "runtime/python/object.h"

namespace runnel::python {

// Copies share the function. Copying, calling and destroying need no GIL.
class Callback {
 public:
  // Needs the GIL.
  explicit Callback(Object function) : function_(new Object(std::move(function)), &Free) {}

  // Calls the function with the objects that `make` make while the GIL is held. An exception goes
  // to sys.unraisablehook: the threads that call have no use for it.
  template <typename... Make>
  void Call(const Make&... make) const noexcept {
    const InCallback in_callback;
    const TakenGil gil;
    // A reference that the garbage collector sees: `make` may let it run in another thread.
    const Object function = *function_;
    try {
      function(make()...);
    } catch (const ExceptionIsSet&) {
      PyErr_WriteUnraisable(function.get());
    } catch (abi::__forced_unwind&) {  // the interpreter ends
      StopThread();
    }
  }

  // The function while a copy of this object lives.
  std::weak_ptr<const Object> Watch() const { return function_; }

  // Whether this thread is in a callback now.
  static bool IsRunning() { return depth_ > 0; }

  // Lives while the garbage collector visits objects in this thread. No object may be freed
  // meanwhile, so a function whose last copy is destroyed is freed later.
  class Traversal {
   public:
    Traversal() { is_traversing_ = true; }
    ~Traversal() { is_traversing_ = false; }
    Traversal(const Traversal&) = delete;
    Traversal& operator=(const Traversal&) = delete;
  };

 private:
  struct InCallback {
    InCallback() { ++depth_; }
    ~InCallback() { --depth_; }
  };

  static void Free(Object* function) {
    // Without an interpreter the function cannot be freed; its memory ends with the process.
    if (Py_IsInitialized() == 0) return;
    const TakenGil gil;
    if (is_traversing_) {
      // Fails when too many calls are pending: then the function is never freed.
      Py_AddPendingCall(&FreeLater, function);
    } else {
      delete function;
    }
  }
  static int FreeLater(void* function) {
    const GilHolder holder;
    delete static_cast<Object*>(function);
    return 0;
  }

  inline static thread_local int depth_ = 0;
  inline static thread_local bool is_traversing_ = false;
  std::shared_ptr<const Object> function_;
};

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_CALLBACK_H_
