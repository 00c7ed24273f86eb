// Several threads for the step of one stream, where a step's time counts more than the number of
// streams.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_STEP_THREADS_H_
#define RUNNEL_ENCODER_CPU_KERNELS_STEP_THREADS_H_

#include <functional>

namespace runnel::kernels {

// While the object lives, matrix multiplications that the calling thread runs are split over
// `num_threads` threads, itself included. The others wait for work without sleeping, and sleep when
// the object ends. They belong to the calling thread and end with it. Results have the same bits
// for any number. Objects of a thread may not be nested. The constructor throws std::system_error
// when the system has no more threads.
class StepThreads {
 public:
  explicit StepThreads(int num_threads);
  ~StepThreads();
  StepThreads(const StepThreads&) = delete;
  StepThreads& operator=(const StepThreads&) = delete;

  // 1 where no object lives.
  static int Count();
  // Calls body(0) to body(Count() - 1), each in a thread of its own, and returns when all have
  // returned. `body` throws nothing and does not call ForEach.
  static void ForEach(const std::function<void(int part)>& body);
};

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_STEP_THREADS_H_
