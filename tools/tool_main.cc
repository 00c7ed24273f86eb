#include "tools/tool_main.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace runnel {
namespace {

// LibTorch's exceptions go on with a stack trace.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

int PrintHelp(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return kExitSuccess;
}

// What was printed may still wait in the buffer, or may have been lost already.
void CheckStandardOutput() {
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    throw std::runtime_error(std::string("standard output: cannot write: ") + std::strerror(errno));
  }
}

int ParseAndRun(const std::vector<std::string>& arguments, const ToolInfo& tool,
                int (*run)(Console* console), Console* console) {
  switch (ParseCommandLine(tool, arguments)) {
    case CommandLineAction::kHelp:
      return PrintHelp(HelpText(tool));
    case CommandLineAction::kVersion:
      return PrintHelp(tool.name + " (Runnel) " RUNNEL_VERSION "\n");
    case CommandLineAction::kRun:
      return run(console);
  }
  throw std::logic_error("unknown action of a command line");
}

}  // namespace

int ToolMain(int argc, char** argv, const ToolInfo& tool, int (*run)(Console* console)) {
  std::signal(SIGPIPE, SIG_IGN);
  Console console(tool.name);
  try {
    const int code =
        ParseAndRun(std::vector<std::string>(argv + 1, argv + argc), tool, run, &console);
    CheckStandardOutput();
    return code;
  } catch (const std::invalid_argument& error) {
    console.Error(FirstLine(error.what()) + " (see " + tool.name + " --help)");
    return kExitUsage;
  } catch (const std::exception& error) {
    console.Error(FirstLine(error.what()));
    return kExitFailure;
  }
}

}  // namespace runnel
