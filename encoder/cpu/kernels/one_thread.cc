#include "encoder/cpu/kernels/one_thread.h"

#include <dlfcn.h>

namespace runnel::kernels {
namespace {

// The number of threads is a setting of the OpenMP that oneDNN calls, which is found at run time.
// Linking the compiler's own OpenMP (LLVM's, with clang) could bring a second one into the process.
struct OpenMp {
  using GetMaxThreads = int (*)();
  using SetNumThreads = void (*)(int);
  GetMaxThreads get_max_threads =
      reinterpret_cast<GetMaxThreads>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  SetNumThreads set_num_threads =
      reinterpret_cast<SetNumThreads>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));

  // False for a oneDNN that was built without OpenMP.
  bool is_there() const { return get_max_threads != nullptr && set_num_threads != nullptr; }
};

const OpenMp& ProcessOpenMp() {
  static const OpenMp open_mp;
  return open_mp;
}

}  // namespace

OneThread::OneThread() : before_(1) {
  if (!ProcessOpenMp().is_there()) return;
  before_ = ProcessOpenMp().get_max_threads();
  ProcessOpenMp().set_num_threads(1);
}

OneThread::~OneThread() {
  if (ProcessOpenMp().is_there()) ProcessOpenMp().set_num_threads(before_);
}

}  // namespace runnel::kernels
