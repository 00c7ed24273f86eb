// What every use of LibTorch begins with.
#ifndef RUNNEL_ENCODER_LIBTORCH_OPERATION_GUARD_H_
#define RUNNEL_ENCODER_LIBTORCH_OPERATION_GUARD_H_

#include <c10/core/InferenceMode.h>

namespace runnel::libtorch {

// From now on, LibTorch and its BLAS compute the operations of the calling thread in that thread
// alone: chunks are too small to gain from being split, and threads that decode different batches
// would compete for the same cores. LibTorch keeps the number per thread, some of its BLAS
// libraries keep one per process.
void UseOneThread();

// While it exists, the operations of the calling thread record no gradients. UseOneThread holds
// from its first guard on.
class OperationGuard {
 public:
  OperationGuard() { UseOneThread(); }

 private:
  c10::InferenceMode inference_mode_;
};

}  // namespace runnel::libtorch

#endif  // RUNNEL_ENCODER_LIBTORCH_OPERATION_GUARD_H_
