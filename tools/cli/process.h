// The process as a whole: settings that a tool makes at its start, and its memory.
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

// The most memory that was resident at a time, in bytes, since the program began. The peak of
// getrusage() also has that of the program that started this one. Throws std::runtime_error when
// the system does not tell it.
int64_t PeakMemoryBytes();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_PROCESS_H_
