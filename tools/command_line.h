// Reads a tool's command line into its gflags flags, and writes its help.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
//
// gflags' own parser accepts and lists the flags of every library linked in, and reports an error
// in two lines; here a tool has the flags of its own source file, and an error is an exception.
#ifndef RUNNEL_TOOLS_COMMAND_LINE_H_
#define RUNNEL_TOOLS_COMMAND_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace runnel {

// What a tool says about itself.
struct ToolInfo {
  std::string name;   // as typed, e.g. "decode_wav"
  std::string usage;  // what it does, how it is called, examples; ends with a newline
  std::vector<std::string> source_files;  // __FILE__ of those that define its flags
};

enum class CommandLineAction { kRun, kHelp, kVersion };

// Sets flags from `arguments` (without the program's name): --name=value, --name value, --name and
// --noname for a bool, one or two dashes, and dashes for
// underscores. --help and --version win over everything else. Throws
// std::invalid_argument on an unknown flag, a value of the wrong type, or an argument that is no
// flag.
CommandLineAction ParseCommandLine(const ToolInfo& tool, const std::vector<std::string>& arguments);

// True when the command line set the flag, even to its default.
bool IsFlagGiven(const std::string& name);

// What --model takes, in every tool.
constexpr char kModelFile[] = "a model file (models/README.md)";

// Throws std::invalid_argument, naming what was expected, when the text flag `name` is empty.
void RequireFlag(const std::string& name, const std::string& expected);

// Throws std::invalid_argument unless one of two flags, and only one, differs from its default.
void RequireEither(const std::string& first, const std::string& second);

// Throws std::invalid_argument unless the integer flag `name`, which is `value`, lies in [min,
// max].
void RequireRange(const std::string& name, int64_t value, int64_t min, int64_t max);

// Threads that any tool starts at most: far more than a machine has cores.
constexpr int kMaxThreads = 1024;

// The largest --channel: libsndfile reads 1024 channels.
constexpr int kMaxChannel = 1023;

// Usage, then every flag of the tool with its type, meaning and default.
std::string HelpText(const ToolInfo& tool);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_COMMAND_LINE_H_
