#include "runtime/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include "runtime/text/require_range.h"

namespace runnel {

void SetThreadsPerOperation(int num_threads) {
  RequireAtLeast("threads per operation", num_threads, 1);
  at::set_num_threads(num_threads);
  // OpenBLAS built on plain threads does not follow at::set_num_threads. Whether it is the BLAS in
  // use is only known when the program runs.
  using SetNumThreads = void (*)(int);
  void* symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (symbol != nullptr) reinterpret_cast<SetNumThreads>(symbol)(num_threads);
}

}  // namespace runnel
