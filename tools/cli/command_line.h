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

// A source file that defines flags, and the title of its flags in a help.
struct FlagSource {
  const char* file;  // __FILE__
  const char* title = "Other flags";
};

// The description of a tool.
struct ToolInfo {
  std::string name;                      // of the program, e.g. "decode_wav"
  std::string usage;                     // purpose, call, examples; ends with a newline
  std::vector<FlagSource> sources = {};  // of its flags
  // The flags that most users need; its help begins with them.
  std::vector<std::string> main_flags = {};
  // The flags whose values may be given without their names, in this order: `decode_wav M.pt
  // a.wav`. If the last one is a list, it takes all arguments that follow.
  std::vector<std::string> positional = {};
  // Text flags with names of files: separated by commas, and they may be given again (FilesOf).
  std::vector<std::string> file_lists = {};
};

// `tool` with another name, in its usage too.
ToolInfo Renamed(ToolInfo tool, const std::string& name);

enum class CommandLineAction { kRun, kHelp, kVersion };

// Sets flags from `arguments` (without the program's name): --name=value, --name value, and --name
// or --noname for a bool. One dash also starts a flag, and dashes may replace underscores. --help
// and --version take precedence over everything else. Other arguments, and all behind "--", are
// values of tool.positional. Throws std::invalid_argument for an unknown flag, a value of the wrong
// type, or an argument too many.
CommandLineAction ParseCommandLine(const ToolInfo& tool, const std::vector<std::string>& arguments);

// Takes a flag of an earlier release, `former`, for the flag `name`. Before ParseCommandLine.
void AcceptFormerFlag(const std::string& former, const std::string& name);

// Whether the command line set the flag, even to its default.
bool IsFlagGiven(const std::string& name);

// The files of a flag of ToolInfo::file_lists: first those behind its name, then the arguments
// without a name, in which a comma is a part of the file's name.
const std::vector<std::string>& FilesOf(const std::string& flag);

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

// The usage, then every flag of the tool with its type, meaning and default: first the main flags,
// then the others of each source file.
std::string HelpText(const ToolInfo& tool);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_COMMAND_LINE_H_
