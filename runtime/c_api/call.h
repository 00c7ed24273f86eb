// The border between C and C++: every exception becomes a status and a message.
#ifndef RUNNEL_RUNTIME_C_API_CALL_H_
#define RUNNEL_RUNTIME_C_API_CALL_H_

#include <stdexcept>
#include <string>

#include "runtime/c_api.h"

namespace runnel::c_api {

// Records the exception that is being handled. `error` may be null.
runnel_status Fail(runnel_error* error) noexcept;
runnel_status Succeed(runnel_error* error) noexcept;

// The body of every function that can fail.
template <typename Action>
runnel_status Call(runnel_error* error, const Action& action) noexcept {
  try {
    action();
  } catch (...) {
    return Fail(error);
  }
  return Succeed(error);
}

// Throws std::invalid_argument naming the argument when it is null.
template <typename T>
T& NotNull(T* argument, const char* name) {
  if (argument == nullptr) throw std::invalid_argument(std::string(name) + " is NULL");
  return *argument;
}

}  // namespace runnel::c_api

#endif  // RUNNEL_RUNTIME_C_API_CALL_H_
