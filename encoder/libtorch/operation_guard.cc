#include "encoder/libtorch/operation_guard.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

namespace runnel::libtorch {
namespace {

bool SetOneThread() {
  at::set_num_threads(1);
  // OpenBLAS built on plain threads does not follow at::set_num_threads. Whether it is the BLAS in
  // use is only known when the program runs.
  using SetNumThreads = void (*)(int);
  void* symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (symbol != nullptr) reinterpret_cast<SetNumThreads>(symbol)(1);
  return true;
}

}  // namespace

void UseOneThread() {
  thread_local const bool is_set = SetOneThread();
  static_cast<void>(is_set);
}

}  // namespace runnel::libtorch
