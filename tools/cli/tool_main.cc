#include "tools/cli/tool_main.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "platform/memory.h"
#include "platform/process.h"
#include "runtime/options/option_error.h"
#include "runtime/text/first_line.h"
#include "runtime/version.h"

// The address sanitizer looks for leaks in exit(), which no tool calls.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define RUNNEL_FINDS_LEAKS
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define RUNNEL_FINDS_LEAKS
#endif
#ifdef RUNNEL_FINDS_LEAKS
#include <sanitizer/lsan_interface.h>
#endif

namespace runnel {
namespace {

int PrintHelp(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  return kExitSuccess;
}

// The tool as its caller names it. `runnel transcribe` runs decode_wav with the environment
// variable RUNNEL_COMMAND=runnel transcribe.
ToolInfo AsCalled(const ToolInfo& tool) {
  const char* command = std::getenv("RUNNEL_COMMAND");
  if (command == nullptr) return tool;
  ToolInfo called = Renamed(tool, command);
  RemoveVariable("RUNNEL_COMMAND");
  return called;
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

int RunTool(int argc, char** argv, const ToolInfo& info, int (*run)(Console* console)) {
  const ToolInfo tool = AsCalled(info);
  PrepareStandardStreams();
  ReturnLargeBlocks();
  IgnoreWriteSignals();
  Console console(tool.name);
  try {
    const int code = ParseAndRun(ProgramArguments(argc, argv), tool, run, &console);
    FlushStandardOutput();
    return code;
  } catch (const OptionError& error) {
    console.Error(FirstLine(error.In(FlagOption)) + " (see " + tool.name + " --help)");
    return kExitUsage;
  } catch (const std::invalid_argument& error) {
    console.Error(FirstLine(error.what()) + " (see " + tool.name + " --help)");
    return kExitUsage;
  } catch (const std::exception& error) {
    console.Error(FirstLine(error.what()));
    return kExitFailure;
  }
}

// Ends the process without the destructors of static objects: with the reference backend, those of
// LibTorch take longer than a short recording, and nothing waits for them.
[[noreturn]] void End(int code) {
  std::fflush(nullptr);
#ifdef RUNNEL_FINDS_LEAKS
  __lsan_do_leak_check();
#endif
  ::_exit(code);  // which the thread sanitizer knows; not _Exit
}

}  // namespace

void FlushStandardOutput() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  const int error = errno;
  EndByClosedPipe(error);
  throw std::runtime_error(std::string("standard output: cannot write: ") + std::strerror(error));
}

void ToolMain(int argc, char** argv, const ToolInfo& info, int (*run)(Console* console)) {
  End(RunTool(argc, argv, info, run));
}

}  // namespace runnel
