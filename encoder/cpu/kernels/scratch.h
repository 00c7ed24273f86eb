// Memory for the intermediate results of a step, one arena per thread.
#ifndef RUNNEL_ENCODER_CPU_KERNELS_SCRATCH_H_
#define RUNNEL_ENCODER_CPU_KERNELS_SCRATCH_H_

#include <cstddef>
#include <cstdint>

namespace runnel::kernels {

// Takes pieces of the calling thread's arena and returns all of them when the object ends. Objects
// of a thread must end in the reverse order of their construction, as local variables do. The arena
// grows to the size of the largest step, and is freed when its thread ends (platform/per_thread.h).
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  // `count` values, not initialised, aligned to a cache line.
  template <typename T>
  T* Take(int64_t count) {
    return static_cast<T*>(TakeBytes(static_cast<size_t>(count) * sizeof(T)));
  }

  // Bytes that the calling thread's arena holds.
  static size_t ThreadBytes();

 private:
  class Arena;
  static Arena& OfThread();
  void* TakeBytes(size_t size);

  Arena& arena_;
  size_t block_;   // where the arena stood
  size_t offset_;  // within that block
};

}  // namespace runnel::kernels

#endif  // RUNNEL_ENCODER_CPU_KERNELS_SCRATCH_H_
