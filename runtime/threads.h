// How many threads LibTorch and its BLAS use inside one operation.
// Flow: packets -> frontend -> encoder -> runtime (this) -> tools.
#ifndef RUNNEL_RUNTIME_THREADS_H_
#define RUNNEL_RUNTIME_THREADS_H_

namespace runnel {

// Sets the number of threads that one operation on tensors is split over. Call it with 1 at the
// start of every thread that decodes: chunks are too small to gain from being split, and threads
// that each decode their own batch would otherwise fight for the same cores. LibTorch keeps the
// number per thread, the BLAS one for the process. Throws std::invalid_argument below 1.
void SetThreadsPerOperation(int num_threads);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_THREADS_H_
