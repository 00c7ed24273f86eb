// What a thread of Python does before it computes with a model.
#ifndef RUNNEL_RUNTIME_PYTHON_COMPUTATION_H_
#define RUNNEL_RUNTIME_PYTHON_COMPUTATION_H_

#include <atomic>

#include "runtime/live/exit_gate.h"

namespace runnel::python {

// Lives while a thread computes, without the GIL. exit() waits for it: daemon threads of Python
// compute on while the process ends, and LibTorch needs the static objects that exit() destroys.
// Nothing may be waited for meanwhile.
class Computation {
 public:
  // For Py_AtExit, after which no thread takes the GIL: waits for the computations that run, and
  // lets none begin.
  static void EndAll() { ExitGate::OfProcess().Close(); }

 private:
  inline static std::atomic<bool> is_given_up_{false};  // never
  const ExitGate::Pass pass_{&ExitGate::OfProcess(), &is_given_up_};
};

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_COMPUTATION_H_
