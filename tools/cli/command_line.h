// Parses the command line of a tool into its gflags flags, and writes its help.
//
// It replaces gflags' own parser, which accepts and lists the flags of every linked library and
// reports an error in two lines. Here a tool has the flags of its own source files, and an error is
// an exception.
#ifndef RUNNEL_TOOLS_CLI_COMMAND_LINE_H_
#define RUNNEL_TOOLS_CLI_COMMAND_LINE_H_

#include <string>
#include <type_traits>
#include <vector>

#include "runtime/text/require_range.h"

namespace runnel {

// The description of a tool.
struct ToolInfo {
  std::string name;                       // of the program, e.g. "decode_wav"
  std::string usage;                      // purpose, call, examples; ends with a newline
  std::vector<std::string> source_files;  // __FILE__ of the files that define its flags
};

// `tool` with another name, in its usage too.
ToolInfo Renamed(ToolInfo tool, const std::string& name);

enum class CommandLineAction { kRun, kHelp, kVersion };

// Sets flags from `arguments` (without the program's name): --name=value, --name value, and --name
// or --noname for a bool. One dash also starts a flag, and dashes may replace underscores. --help
// and --version take precedence over everything else. Throws std::invalid_argument for an unknown
// flag, a value of the wrong type, or an argument that is not a flag.
CommandLineAction ParseCommandLine(const ToolInfo& tool, const std::vector<std::string>& arguments);

// Takes a flag of an earlier release, `former`, for the flag `name`. Before ParseCommandLine.
void AcceptFormerFlag(const std::string& former, const std::string& name);

// Whether the command line set the flag, even to its default.
bool IsFlagGiven(const std::string& name);

// The value expected of --model, in every tool.
constexpr char kModelFile[] = "a model file (models/README.md)";

// Throws std::invalid_argument, which names `expected`, when the text flag `name` is empty.
void RequireFlag(const std::string& name, const std::string& expected);

// Throws std::invalid_argument unless exactly one of two flags differs from its default.
void RequireEither(const std::string& first, const std::string& second);

// RequireInRange for `value`, that of the flag `name`.
template <typename Number>
void RequireRange(const std::string& name, Number value, std::common_type_t<Number> min,
                  std::common_type_t<Number> max, const std::string& unit = "") {
  RequireInRange("--" + name, value, min, max, unit);
}

// The most threads of any tool: far more than the cores of a machine.
constexpr int kMaxThreads = 1024;

// The usage, then every flag of the tool with its type, meaning and default.
std::string HelpText(const ToolInfo& tool);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_COMMAND_LINE_H_
