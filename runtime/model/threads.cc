#include "runtime/threads.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace runnel {

void SetThreadsPerOperation(int num_threads) {
  if (num_threads < 1) {
    throw std::invalid_argument("threads per operation is " + std::to_string(num_threads) +
                                ", expected at least 1");
  }
  at::set_num_threads(num_threads);
  // OpenBLAS built on plain threads does not follow at::set_num_threads. Whether it is the BLAS in
  // use is only known when the program runs.
  using SetNumThreads = void (*)(int);
  void* symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads");
  if (symbol != nullptr) reinterpret_cast<SetNumThreads>(symbol)(num_threads);
}

}  // namespace runnel
