#include "tools/cli/command_line.h"

#include <gflags/gflags.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <iterator>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>

namespace runnel {
namespace {

constexpr size_t kLineWidth = 100;

std::vector<gflags::CommandLineFlagInfo> FlagsOf(const ToolInfo& tool) {
  std::vector<gflags::CommandLineFlagInfo> flags;
  gflags::GetAllFlags(&flags);
  flags.erase(std::remove_if(flags.begin(), flags.end(),
                             [&](const gflags::CommandLineFlagInfo& flag) {
                               return std::count(tool.source_files.begin(), tool.source_files.end(),
                                                 flag.filename) == 0;
                             }),
              flags.end());
  return flags;
}

// Of earlier releases: the present name of each.
std::map<std::string, std::string>& FormerFlags() {
  static std::map<std::string, std::string> flags;
  return flags;
}

const gflags::CommandLineFlagInfo* Find(const std::vector<gflags::CommandLineFlagInfo>& flags,
                                        const std::string& given) {
  const auto former = FormerFlags().find(given);
  const std::string& name = former == FormerFlags().end() ? given : former->second;
  const auto found =
      std::find_if(flags.begin(), flags.end(),
                   [&](const gflags::CommandLineFlagInfo& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

// "--chunk_size", "-chunk_size" or, as Kaldi spells it, "--chunk-size" -> "chunk_size".
std::string FlagName(const std::string& argument) {
  std::string name = argument.substr(argument.compare(0, 2, "--") == 0 ? 2 : 1);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string TypeName(const gflags::CommandLineFlagInfo& flag) {
  if (flag.type == "string") return "TEXT";
  if (flag.type == "double") return "NUMBER";
  return "INTEGER";
}

// The default as one writes it; gflags gives "0.80000000000000004" for 0.8.
std::string DefaultText(const gflags::CommandLineFlagInfo& flag) {
  if (flag.type != "double") return flag.default_value;
  char text[32];
  const auto end = std::to_chars(text, text + sizeof(text), std::stod(flag.default_value)).ptr;
  return std::string(text, end);
}

// `text` broken into lines of at most kLineWidth, each after `indent` spaces.
std::string Wrap(const std::string& text, size_t indent) {
  std::string wrapped;
  std::string line;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!line.empty() && indent + line.size() + 1 + word.size() > kLineWidth) {
      wrapped += std::string(indent, ' ') + line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
    begin = end + 1;
  }
  return wrapped + std::string(indent, ' ') + line + "\n";
}

void SetFlag(const gflags::CommandLineFlagInfo& flag, const std::string& value) {
  if (gflags::SetCommandLineOption(flag.name.c_str(), value.c_str()).empty()) {
    throw std::invalid_argument("--" + flag.name + " is '" + value + "', expected " +
                                (flag.type == "bool"     ? "true or false"
                                 : flag.type == "double" ? "a number"
                                                         : "an integer"));
  }
}

// Flags of recordings, of which the last one would hide the others. Of another flag the last one
// counts: services add flags to those that they have.
constexpr std::string_view kGivenOnce[] = {"features", "wav", "wav_scp"};

}  // namespace

ToolInfo Renamed(ToolInfo tool, const std::string& name) {
  const auto is_word = [&](size_t i) {
    return i < tool.usage.size() &&
           (std::isalnum(static_cast<unsigned char>(tool.usage[i])) != 0 || tool.usage[i] == '_');
  };
  size_t begin = 0;
  while ((begin = tool.usage.find(tool.name, begin)) != std::string::npos) {
    const size_t end = begin + tool.name.size();
    if ((begin > 0 && is_word(begin - 1)) || is_word(end)) {
      begin = end;
    } else {
      tool.usage.replace(begin, tool.name.size(), name);
      begin += name.size();
    }
  }
  tool.name = name;
  return tool;
}

CommandLineAction ParseCommandLine(const ToolInfo& tool,
                                   const std::vector<std::string>& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--help" || argument == "-help" || argument == "-h") {
      return CommandLineAction::kHelp;
    }
    if (argument == "--version" || argument == "-version") return CommandLineAction::kVersion;
  }
  const std::vector<gflags::CommandLineFlagInfo> flags = FlagsOf(tool);
  std::set<std::string> given;
  const auto take = [&given](const gflags::CommandLineFlagInfo& flag, const std::string& value) {
    const bool is_again = !given.insert(flag.name).second;
    if (is_again && std::find(std::begin(kGivenOnce), std::end(kGivenOnce), flag.name) !=
                        std::end(kGivenOnce)) {
      throw std::invalid_argument("--" + flag.name + " is given twice, expected once");
    }
    SetFlag(flag, value);
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument.size() < 2 || argument[0] != '-') {
      throw std::invalid_argument("unexpected argument '" + argument +
                                  "': every argument is a flag, --name=value");
    }
    const size_t equals = argument.find('=');
    const std::string name = FlagName(argument.substr(0, equals));
    const gflags::CommandLineFlagInfo* flag = Find(flags, name);
    if (flag == nullptr && equals == std::string::npos && name.compare(0, 2, "no") == 0) {
      flag = Find(flags, name.substr(2));
      if (flag != nullptr && flag->type == "bool") {
        take(*flag, "false");
        continue;
      }
      flag = nullptr;
    }
    if (flag == nullptr) throw std::invalid_argument("unknown flag --" + name);
    if (equals != std::string::npos) {
      take(*flag, argument.substr(equals + 1));
    } else if (flag->type == "bool") {
      take(*flag, "true");
    } else if (i + 1 < arguments.size()) {
      take(*flag, arguments[++i]);
    } else {
      throw std::invalid_argument("--" + name + " has no value");
    }
  }
  return CommandLineAction::kRun;
}

void AcceptFormerFlag(const std::string& former, const std::string& name) {
  FormerFlags()[former] = name;
}

bool IsFlagGiven(const std::string& name) {
  return !gflags::GetCommandLineFlagInfoOrDie(name.c_str()).is_default;
}

void RequireFlag(const std::string& name, const std::string& expected) {
  if (!gflags::GetCommandLineFlagInfoOrDie(name.c_str()).current_value.empty()) return;
  throw std::invalid_argument("--" + name + " is missing, expected " + expected);
}

void RequireEither(const std::string& first, const std::string& second) {
  const auto is_set = [](const std::string& name) {
    const auto flag = gflags::GetCommandLineFlagInfoOrDie(name.c_str());
    return !flag.is_default && !flag.current_value.empty();
  };
  const bool both = is_set(first);
  if (both != is_set(second)) return;
  throw std::invalid_argument("--" + first + " and --" + second + " are both " +
                              (both ? "given" : "missing") + ", expected either --" + first +
                              " or --" + second);
}

std::string HelpText(const ToolInfo& tool) {
  std::string text = tool.usage + "\nFlags:\n";
  for (const gflags::CommandLineFlagInfo& flag : FlagsOf(tool)) {
    text += "  --" + flag.name;
    if (flag.type != "bool") text += "=" + TypeName(flag);
    const bool shows_default =
        flag.type == "bool" ? flag.default_value != "false" : !flag.default_value.empty();
    if (shows_default) text += "  (default: " + DefaultText(flag) + ")";
    text += "\n" + Wrap(flag.description, 6);
  }
  return text + "  --help, --version\n";
}

}  // namespace runnel
