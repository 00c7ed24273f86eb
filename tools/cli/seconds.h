// Converts between seconds as a number and durations of the steady clock.
#ifndef RUNNEL_TOOLS_CLI_SECONDS_H_
#define RUNNEL_TOOLS_CLI_SECONDS_H_

#include <chrono>

namespace runnel {

// `seconds`: up to 9e9.
inline std::chrono::steady_clock::duration Seconds(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(
      std::chrono::duration<double>(seconds));
}

inline double SecondsSince(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_SECONDS_H_
