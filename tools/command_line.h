// Reads a tool's command line into its gflags flags, and writes its help.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
//
// gflags' own parser accepts and lists the flags of every library linked in, and reports an error
// in two lines; here a tool has the flags of its own source file, and an error is an exception.
#ifndef RUNNEL_TOOLS_COMMAND_LINE_H_
#define RUNNEL_TOOLS_COMMAND_LINE_H_

#include <string>
#include <vector>

namespace runnel {

// What a tool says about itself.
struct ToolInfo {
  std::string name;         // as typed, e.g. "decode_wav"
  std::string usage;        // what it does, how it is called, examples; ends with a newline
  std::string source_file;  // __FILE__ of the file that defines its flags
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

// Usage, then every flag of the tool with its type, meaning and default.
std::string HelpText(const ToolInfo& tool);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_COMMAND_LINE_H_
