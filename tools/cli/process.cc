#include "tools/cli/process.h"

#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

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

int64_t PeakMemoryBytes() {
  constexpr char kFile[] = "/proc/self/status";
  constexpr std::string_view kField = "VmHWM:";
  std::ifstream status(kFile);
  for (std::string line; std::getline(status, line);) {
    if (line.compare(0, kField.size(), kField) == 0) {
      return std::stoll(line.substr(kField.size())) * 1024;
    }
  }
  throw std::runtime_error(std::string(kFile) + ": no field VmHWM");
}

}  // namespace runnel
