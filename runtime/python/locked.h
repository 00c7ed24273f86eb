// An object of C++ that serves one thread at a time, shared by threads of Python.
#ifndef RUNNEL_RUNTIME_PYTHON_LOCKED_H_
#define RUNNEL_RUNTIME_PYTHON_LOCKED_H_

#include <atomic>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "runtime/python/gil.h"

namespace runnel::python {

// Becomes RuntimeError.
class Reentered : public std::logic_error {
 public:
  explicit Reentered(const std::string& name)
      : logic_error("a signal handler uses " + name +
                    " while a call of its thread does; expected another thread, or after the "
                    "call") {}
};

// Waits for other threads without the GIL, so a thread that holds the lock may need it. A handler
// of a signal may run while its own thread holds the lock: its calls throw Reentered, because they
// would wait for themselves.
template <typename T>
class Locked {
 public:
  // The lock, held until it is destroyed.
  class Lock {
   public:
    // Throws Reentered in the thread that holds it. Needs no GIL.
    explicit Lock(Locked* locked) : locked_(locked) {
      if (locked->owner_ == std::this_thread::get_id()) throw Reentered(locked->name_);
      locked->mutex_.lock();
      locked->owner_ = std::this_thread::get_id();
    }
    ~Lock() {
      if (locked_ == nullptr) return;
      locked_->owner_ = std::thread::id();
      locked_->mutex_.unlock();
    }
    Lock(Lock&& other) noexcept : locked_(std::exchange(other.locked_, nullptr)) {}
    Lock& operator=(Lock&& other) = delete;

   private:
    Locked* locked_;
  };

  Locked(T value, std::string name) : value_(std::move(value)), name_(std::move(name)) {}

  // Returns use(value), which runs without the GIL. Throws std::invalid_argument after Close.
  template <typename Use>
  auto With(const Use& use) {
    const ReleasedGil released;
    const Lock lock(this);
    return use(Get());
  }

  // Frees the value.
  void Close() {
    const ReleasedGil released;
    const Lock lock(this);
    value_.reset();
  }

  // The value, for the thread that holds the lock.
  T& Get() {
    if (!value_) throw std::invalid_argument(name_ + " is closed");
    return *value_;
  }

 private:
  std::mutex mutex_;
  std::atomic<std::thread::id> owner_{};
  std::optional<T> value_;
  const std::string name_;
};

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_LOCKED_H_
