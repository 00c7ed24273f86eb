#include "tools/cli/process.h"

#include <sys/resource.h>

#include <csignal>
#include <limits>

namespace runnel {

int64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int64_t>::max();
  rlimit raised = limit;
  raised.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<int64_t>::max()
                                         : static_cast<int64_t>(limit.rlim_cur);
}

void OutliveFirstInterrupt() {
  struct sigaction action {};
  action.sa_handler = [](int /*signal*/) {};
  action.sa_flags = SA_RESETHAND | SA_RESTART;  // reads continue; a second signal has its default
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace runnel
