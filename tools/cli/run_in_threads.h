// Runs the same work in several threads and passes exceptions on to the caller.
#ifndef RUNNEL_TOOLS_CLI_RUN_IN_THREADS_H_
#define RUNNEL_TOOLS_CLI_RUN_IN_THREADS_H_

#include <functional>

namespace runnel {

// `num_threads`; for 0 as many as there are cores that this process may use.
int ThreadsOrCores(int num_threads);

// Calls `work` in `num_threads` new threads and returns when all have ended. After an exception in
// a thread, or of starting one, it calls `stop`, which must be thread-safe and end the other
// threads soon, and then throws the first exception.
void RunInThreads(int num_threads, const std::function<void()>& work,
                  const std::function<void()>& stop);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_RUN_IN_THREADS_H_
