// How many files and connections a process may have open.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_DESCRIPTOR_LIMIT_H_
#define RUNNEL_TOOLS_DESCRIPTOR_LIMIT_H_

#include <sys/resource.h>

#include <cstdint>
#include <limits>

namespace runnel {

// Allows this process as many descriptors as it may have (the soft limit is often 1024), and
// returns their number.
inline int64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::numeric_limits<int64_t>::max();
  rlimit raised = limit;
  raised.rlim_cur = limit.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return limit.rlim_cur == RLIM_INFINITY ? std::numeric_limits<int64_t>::max()
                                         : static_cast<int64_t>(limit.rlim_cur);
}

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DESCRIPTOR_LIMIT_H_
