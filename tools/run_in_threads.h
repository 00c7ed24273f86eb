// Several threads doing the same work, with exceptions carried over to the caller.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_RUN_IN_THREADS_H_
#define RUNNEL_TOOLS_RUN_IN_THREADS_H_

#include <functional>

namespace runnel {

// Calls `work` in `num_threads` new threads, with one LibTorch thread per operation in each, and
// returns when all have ended. The first exception in any of them, or of starting one, is thrown
// here; before that `stop`, which must be thread-safe, is called so that the others end soon.
void RunInThreads(int num_threads, const std::function<void()>& work,
                  const std::function<void()>& stop);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_RUN_IN_THREADS_H_
