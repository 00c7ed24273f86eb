// Keeps oneDNN from splitting a matmul over threads.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_ONE_THREAD_H_
#define RUNNEL_ENCODER_CPU_KERNELS_ONE_THREAD_H_

namespace runnel::kernels {

// While it lives, matmuls that the calling thread makes or runs use one thread.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_ONE_THREAD_H_
