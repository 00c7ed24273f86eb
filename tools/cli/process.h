// Settings of the whole process that a tool makes at its start.
#ifndef RUNNEL_TOOLS_CLI_PROCESS_H_
#define RUNNEL_TOOLS_CLI_PROCESS_H_

#include <cstdint>

namespace runnel {

// Allows this process as many open files and connections as it may have (the soft limit is often
// 1024). Returns their number.
int64_t RaiseDescriptorLimit();

// For programs that read standard input, to be called once before any thread starts. Ctrl-C
// interrupts every program of a pipe. After this call the process survives the first SIGINT: the
// program before it in the pipe ends and with it the input, whose results are still written. A
// second SIGINT ends the process.
void OutliveFirstInterrupt();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_PROCESS_H_
