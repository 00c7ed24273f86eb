// Objects of which each thread has its own, in place of thread_local for types with destructors.
#ifndef RUNNEL_PLATFORM_PER_THREAD_H_
#define RUNNEL_PLATFORM_PER_THREAD_H_

#include <pthread.h>

#include <memory>
#include <system_error>

namespace runnel {

// An object of T for each thread that calls Get, deleted when the thread ends; that of the main
// thread lives as long as the process. ~T waits for no other thread: winpthreads holds a lock
// meanwhile that each ending thread takes. GCC for Windows frees a thread_local object before it
// calls its destructor (GCC bug 80816). To be used as a static variable; its key is never returned.
template <class T>
class PerThread {
 public:
  PerThread() {
    Check(::pthread_key_create(&key_, [](void* t) { delete static_cast<T*>(t); }));
  }

  // That of the calling thread. Throws std::system_error, or what T() throws.
  T& Get() const {
    if (void* const own = ::pthread_getspecific(key_)) return *static_cast<T*>(own);
    auto made = std::make_unique<T>();
    Check(::pthread_setspecific(key_, made.get()));
    return *made.release();
  }

 private:
  static void Check(int error) {
    if (error != 0) {
      throw std::system_error(error, std::generic_category(), "cannot keep an object of a thread");
    }
  }

  pthread_key_t key_ = {};
};

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_PER_THREAD_H_
