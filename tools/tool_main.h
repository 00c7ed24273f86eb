// What `main` of every tool does around its work: flags, help, exceptions, exit codes.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_TOOL_MAIN_H_
#define RUNNEL_TOOLS_TOOL_MAIN_H_

#include "tools/command_line.h"
#include "tools/console.h"

namespace runnel {

// Exit codes of every tool.
constexpr int kExitSuccess = 0;
constexpr int kExitFailure = 1;  // bad data, a failed check, output that cannot be written
constexpr int kExitUsage = 2;    // wrong flags

// Parses the command line, handles --help and --version, then calls `run`, which returns the exit
// code. std::invalid_argument (what libraries throw on bad options) ends in one line and
// kExitUsage, any other exception in one line and kExitFailure. A closed output pipe, or a file
// that may not grow any more (ulimit -f), is an error of the write, not a signal.
int ToolMain(int argc, char** argv, const ToolInfo& tool, int (*run)(Console* console));

}  // namespace runnel

#endif  // RUNNEL_TOOLS_TOOL_MAIN_H_
