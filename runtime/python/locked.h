// An object of C++ that serves one thread at a time, shared by threads of Python.
#ifndef RUNNEL_RUNTIME_PYTHON_LOCKED_H_
#define RUNNEL_RUNTIME_PYTHON_LOCKED_H_

#include <pybind11/pybind11.h>

#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "runtime/python/gil.h"

namespace runnel::python {

// Waits for other threads without the GIL, so a thread that holds the lock may need it.
template <typename T>
class Locked {
 public:
  Locked(T value, std::string name) : value_(std::move(value)), name_(std::move(name)) {}

  // Returns use(value), which runs without the GIL. Throws std::invalid_argument after Close.
  template <typename Use>
  auto With(const Use& use) {
    const ReleasedGil released;
    const auto lock = Lock();
    return use(Get());
  }

  // Frees the value.
  void Close() {
    const ReleasedGil released;
    const auto lock = Lock();
    value_.reset();
  }

  // For several objects at once: locks, without the GIL. The value may be used while locked.
  std::unique_lock<std::mutex> Lock() { return std::unique_lock<std::mutex>(mutex_); }
  T& Get() {
    if (!value_) throw std::invalid_argument(name_ + " is closed");
    return *value_;
  }

 private:
  std::mutex mutex_;
  std::optional<T> value_;
  const std::string name_;
};

}  // namespace runnel::python

#endif  // RUNNEL_RUNTIME_PYTHON_LOCKED_H_
