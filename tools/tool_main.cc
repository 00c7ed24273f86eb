#include "tools/tool_main.h"

#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace runnel {
namespace {

// LibTorch's exceptions go on with a stack trace.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

int PrintAndExit(const std::string& text, Console* console) {
  if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
    console->Error("cannot write to standard output");
    return kExitFailure;
  }
  return kExitSuccess;
}

}  // namespace

int ToolMain(int argc, char** argv, const ToolInfo& tool, int (*run)(Console* console)) {
  std::signal(SIGPIPE, SIG_IGN);
  Console console(tool.name);
  try {
    switch (ParseCommandLine(tool, std::vector<std::string>(argv + 1, argv + argc))) {
      case CommandLineAction::kHelp:
        return PrintAndExit(HelpText(tool), &console);
      case CommandLineAction::kVersion:
        return PrintAndExit(tool.name + " (Runnel) " RUNNEL_VERSION "\n", &console);
      case CommandLineAction::kRun:
        return run(&console);
    }
  } catch (const std::invalid_argument& error) {
    console.Error(FirstLine(error.what()) + " (see " + tool.name + " --help)");
    return kExitUsage;
  } catch (const std::exception& error) {
    console.Error(FirstLine(error.what()));
    return kExitFailure;
  }
  return kExitFailure;
}

}  // namespace runnel
