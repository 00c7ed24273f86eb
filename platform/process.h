// The process as a whole: its arguments and streams, settings that a tool makes at its start, and
// its memory.
#ifndef RUNNEL_PLATFORM_PROCESS_H_
#define RUNNEL_PLATFORM_PROCESS_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace runnel {

// The arguments of `main` without the program's name, in UTF-8 where the system has arguments as
// text, otherwise the bytes that were given.
std::vector<std::string> ProgramArguments(int argc, char** argv);

// Has the standard streams carry bytes as they are, UTF-8 on a terminal, and has terminals obey
// escape sequences, where they can. If the caller closed a standard stream, the next opened file
// would take its number, and messages would end up in results: such a number gets a stream whose
// use fails.
void PrepareStandardStreams();

// A closed output pipe and a file at its size limit (ulimit -f) cause write errors afterwards
// instead of signals.
void IgnoreWriteSignals();

// After a write error EPIPE: ends this process by SIGPIPE, as programs end whose reader is gone. Of
// another error, or where there are no signals, no effect.
void EndByClosedPipe(int error);

// Removes a variable from the environment, if it is there.
void RemoveVariable(const char* name);

bool IsTerminal(int fd);
// Whether it is a terminal that obeys escape sequences, once PrepareStandardStreams was called.
bool ObeysEscapeSequences(int fd);
// Columns of the terminal of standard error; 80 where that is not known.
size_t TerminalWidth();

// Of the running program; empty where the system does not tell it.
std::filesystem::path ProgramFolder();
// Of the library or the extension module that this code is in; of a program, perhaps empty.
std::filesystem::path ModuleFolder();

// Allows this process as many open files and connections as it may have (the soft limit is often
// 1024). Returns their number.
int64_t RaiseDescriptorLimit();

// For programs that read standard input, to be called once before any thread starts. Ctrl-C
// interrupts every program of a pipe. After this call the process survives the first SIGINT: the
// program before it in the pipe ends and with it the input, whose results are still written. A
// second SIGINT ends the process.
void OutliveFirstInterrupt();

// Has `call` run in each child process of fork before fork returns there. No effect where there is
// no fork.
void CallInForkedChildren(void (*call)());

// The most memory that was resident at a time, in bytes, since the program began. Throws
// std::runtime_error when the system does not tell it.
int64_t PeakMemoryBytes();

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_PROCESS_H_
