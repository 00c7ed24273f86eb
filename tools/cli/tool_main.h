// The frame of every tool's `main`: flags, help, exceptions and exit codes.
#ifndef RUNNEL_TOOLS_CLI_TOOL_MAIN_H_
#define RUNNEL_TOOLS_CLI_TOOL_MAIN_H_

#include "tools/cli/command_line.h"
#include "tools/cli/console.h"

namespace runnel {

// Exit codes of every tool.
constexpr int kExitSuccess = 0;
constexpr int kExitFailure = 1;  // bad data, a failed check, output that cannot be written
constexpr int kExitUsage = 2;    // wrong flags

// Writes what was printed. Throws std::runtime_error when that failed, now or before, and ends the
// process when the reader of a pipe is gone (EndByClosedPipe). A tool that prints while it works
// calls it after each result.
void FlushStandardOutput();

// Parses the command line, handles --help and --version, and otherwise calls `run`, which returns
// the exit code. Ends the process with that code. Neither destructors of static objects nor
// functions of std::atexit are called. An exception becomes one line on standard error and an exit
// code: kExitUsage for std::invalid_argument, which libraries throw on bad options, kExitFailure
// for all others. A file at its size limit (ulimit -f) causes a write error instead of a
// signal. A standard output whose reader is gone ends the process silently, by SIGPIPE. Messages
// and help use the name in the environment variable RUNNEL_COMMAND, if it is set, in place of that
// of `info`.
[[noreturn]] void ToolMain(int argc, char** argv, const ToolInfo& info,
                           int (*run)(Console* console));

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_TOOL_MAIN_H_
