// Objects of which each thread has its own, for types with destructors.
#ifndef RUNNEL_PLATFORM_PER_THREAD_H_
#define RUNNEL_PLATFORM_PER_THREAD_H_

#ifdef _WIN32
#include <pthread.h>

#include <memory>
#include <system_error>
#endif

namespace runnel {

#ifdef _WIN32

// GCC for Windows frees a thread_local object before it calls its destructor (GCC bug 80816), so
// objects are values of a key. That of the main thread lives as long as the process.
template <class T>
class ThreadKey {
 public:
  ThreadKey() {
    Check(::pthread_key_create(&key_, [](void* t) { delete static_cast<T*>(t); }));
  }

  T& Object() const {
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

#endif

// The calling thread's object of type T, of which each thread has one. It is made when the thread
// asks for it first, and destroyed when the thread ends. ~T waits for no other thread: winpthreads
// holds a lock meanwhile that every thread takes when it ends. Throws what T() throws, on Windows
// also std::system_error.
template <class T>
T& PerThread() {
#ifdef _WIN32
  static const ThreadKey<T> key;
  return key.Object();
#else
  thread_local T object;
  return object;
#endif
}

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_PER_THREAD_H_
