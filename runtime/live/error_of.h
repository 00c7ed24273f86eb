// What a call throws, as one line: the errors of workers, which no exception may leave.
#ifndef RUNNEL_RUNTIME_LIVE_ERROR_OF_H_
#define RUNNEL_RUNTIME_LIVE_ERROR_OF_H_

#include <exception>
#include <string>

#include "runtime/text/first_line.h"

namespace runnel {

// The first line of `message`, never empty.
inline std::string LineOf(const char* message) noexcept {
  try {
    const std::string line = FirstLine(message);
    return line.empty() ? "unknown error" : line;
  } catch (...) {
    return "no memory";  // so short that it needs none
  }
}

// What `call` throws; "" when it returns.
template <class Call>
std::string ErrorOf(const Call& call) noexcept {
  try {
    call();
    return "";
  } catch (const std::exception& error) {
    return LineOf(error.what());
  } catch (...) {
    return "unknown error";
  }
}

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_LIVE_ERROR_OF_H_
