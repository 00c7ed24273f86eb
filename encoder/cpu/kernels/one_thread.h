// Keeps oneDNN from splitting a product over threads.
// Flow: encoder -> fast backend -> kernels (this).
#ifndef RUNNEL_ENCODER_KERNELS_ONE_THREAD_H_
#define RUNNEL_ENCODER_KERNELS_ONE_THREAD_H_

namespace runnel::kernels {

// Products that this thread makes while it lives run in one thread.
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

#endif  // RUNNEL_ENCODER_KERNELS_ONE_THREAD_H_
