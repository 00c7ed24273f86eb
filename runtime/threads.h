// The number of threads that LibTorch and its BLAS use inside one operation.
#ifndef RUNNEL_RUNTIME_THREADS_H_
#define RUNNEL_RUNTIME_THREADS_H_

namespace runnel {

// Sets the number of threads that one tensor operation is split over. Call it with 1 at the start
// of every thread that decodes: chunks are too small to gain from being split, and threads that
// decode different batches would compete for the same cores. A Recognizer does this for its
// workers. LibTorch keeps the number per thread, its BLAS one per process. Throws
// std::invalid_argument for a number below 1.
void SetThreadsPerOperation(int num_threads);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_THREADS_H_
