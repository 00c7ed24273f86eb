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
#include <utility>

#include "tools/cli/closest_name.h"

namespace runnel {
namespace {

constexpr size_t kLineWidth = 100;

using Flag = gflags::CommandLineFlagInfo;

// In the order of the tool's sources, those of a file in alphabetical order.
std::vector<Flag> FlagsOf(const ToolInfo& tool) {
  std::vector<Flag> all;
  gflags::GetAllFlags(&all);
  std::vector<Flag> flags;
  for (const FlagSource& source : tool.sources) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(flags),
                 [&](const Flag& flag) { return flag.filename == source.file; });
  }
  return flags;
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// By flag of ToolInfo::file_lists.
std::map<std::string, std::vector<std::string>>& FileLists() {
  static std::map<std::string, std::vector<std::string>> lists;
  return lists;
}

// The names between the commas of a value. Throws for an empty one.
std::vector<std::string> SplitAtCommas(const std::string& flag, const std::string& value) {
  std::vector<std::string> files;
  for (size_t begin = 0; begin <= value.size() && !value.empty();) {
    const size_t end = std::min(value.find(',', begin), value.size());
    files.push_back(value.substr(begin, end - begin));
    if (files.back().empty()) {
      std::string message = "--" + flag;
      message.append(" is '").append(value).append("', expected file names between commas");
      throw std::invalid_argument(message);
    }
    begin = end + 1;
  }
  return files;
}

// Of earlier releases: the present name of each.
std::map<std::string, std::string>& FormerFlags() {
  static std::map<std::string, std::string> flags;
  return flags;
}

const Flag* Find(const std::vector<Flag>& flags, const std::string& given) {
  const auto former = FormerFlags().find(given);
  const std::string& name = former == FormerFlags().end() ? given : former->second;
  const auto found =
      std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; });
  return found == flags.end() ? nullptr : &*found;
}

// "--chunk_size", "-chunk_size" or, as Kaldi spells it, "--chunk-size" -> "chunk_size".
std::string FlagName(const std::string& argument) {
  std::string name = argument.substr(argument.compare(0, 2, "--") == 0 ? 2 : 1);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string TypeName(const Flag& flag) {
  if (flag.type == "string") return "TEXT";
  if (flag.type == "double") return "NUMBER";
  return "INTEGER";
}

// What a description says of a number: "-2: as the model recommends", or "-2 (the model's)". Empty
// if it says nothing.
std::string MeaningOf(const std::string& number, const std::string& description) {
  for (const auto& [begin, ends] : {std::pair(": ", ".;,"), std::pair(" (", ")")}) {
    for (size_t at = 0; (at = description.find(number + begin, at)) != std::string::npos; ++at) {
      if (at > 0 && description[at - 1] != ' ') continue;  // a part of another number
      const size_t meaning = at + number.size() + 2;
      return description.substr(meaning, description.find_first_of(ends, meaning) - meaning);
    }
  }
  return "";
}

// The default as one writes it, and what it means where the description says so. gflags gives
// "0.80000000000000004" for 0.8.
std::string DefaultText(const Flag& flag) {
  if (flag.type != "double") {
    const std::string meaning =
        flag.type == "string" ? "" : MeaningOf(flag.default_value, flag.description);
    return flag.default_value + (meaning.empty() ? "" : ", " + meaning);
  }
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

void SetFlag(const Flag& flag, const std::string& value) {
  if (gflags::SetCommandLineOption(flag.name.c_str(), value.c_str()).empty()) {
    throw std::invalid_argument("--" + flag.name + " is '" + value + "', expected " +
                                (flag.type == "bool"     ? "true or false"
                                 : flag.type == "double" ? "a number"
                                                         : "an integer"));
  }
}

// Sets flags of a tool in the order of the command line.
class FlagSetter {
 public:
  explicit FlagSetter(const ToolInfo& tool) : tool_(tool), flags_(FlagsOf(tool)) {
    FileLists().clear();
  }

  // "--name=value", "--name" or "--noname" of a bool, or "--name" before its value `next`, which
  // may be null. Returns whether it took `next`.
  bool SetByName(const std::string& argument, const std::string* next) {
    const size_t equals = argument.find('=');
    const std::string name = FlagName(argument.substr(0, equals));
    const Flag* flag = Find(flags_, name);
    if (flag == nullptr && equals == std::string::npos && name.compare(0, 2, "no") == 0) {
      const Flag* positive = Find(flags_, name.substr(2));
      if (positive != nullptr && positive->type == "bool") return Set(*positive, "false"), false;
    }
    if (flag == nullptr) {
      std::vector<std::string> names;
      for (const Flag& known : flags_) names.push_back(known.name);
      const std::string closest = ClosestName(name, names);
      throw std::invalid_argument("unknown flag --" + name +
                                  (closest.empty() ? "" : ", did you mean --" + closest + "?"));
    }
    if (equals != std::string::npos) return Set(*flag, argument.substr(equals + 1)), false;
    if (flag->type == "bool") return Set(*flag, "true"), false;
    if (next == nullptr) throw std::invalid_argument("--" + name + " has no value");
    return Set(*flag, *next), true;
  }

  // Gives arguments without names to the flags of ToolInfo::positional.
  void SetByPosition(const std::vector<std::string>& arguments) {
    auto argument = arguments.begin();
    for (const std::string& name : tool_.positional) {
      const bool is_list = Contains(tool_.file_lists, name);
      if (given_.count(name) > 0 && !is_list) continue;
      while (argument != arguments.end()) {
        if (argument->empty()) throw std::invalid_argument("an argument is empty, expected a file");
        if (is_list) {
          AddFiles(name, {*argument++});
        } else {
          SetFlag(*Find(flags_, name), *argument++);
          break;
        }
      }
    }
    if (argument == arguments.end()) return;
    std::string expected;
    for (const std::string& name : tool_.positional) {
      expected += (expected.empty() ? ", expected at most the values of --" : ", --") + name;
    }
    throw std::invalid_argument("unexpected argument '" + *argument + "'" +
                                (expected.empty() ? ", expected flags: --name=value" : expected));
  }

 private:
  void Set(const Flag& flag, const std::string& value) {
    const bool is_again = !given_.insert(flag.name).second;
    if (Contains(tool_.file_lists, flag.name)) {
      return AddFiles(flag.name, SplitAtCommas(flag.name, value));
    }
    // The last one would hide the others. Of another flag the last one counts: services add flags
    // to those that they have.
    if (is_again && (flag.name == "wav" || flag.name == "wav_scp" || flag.name == "features")) {
      throw std::invalid_argument("--" + flag.name + " is given twice, expected once");
    }
    SetFlag(flag, value);
  }

  // The flag itself shows whether there are files.
  void AddFiles(const std::string& name, const std::vector<std::string>& files) {
    std::vector<std::string>& list = FileLists()[name];
    list.insert(list.end(), files.begin(), files.end());
    SetFlag(*Find(flags_, name), list.empty() ? "" : list.front());
  }

  const ToolInfo& tool_;
  const std::vector<Flag> flags_;
  std::set<std::string> given_;
};

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
  FlagSetter setter(tool);
  std::vector<std::string> without_names;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    if (argument == "--") {
      without_names.insert(without_names.end(), arguments.begin() + static_cast<long>(i) + 1,
                           arguments.end());
      break;
    }
    if (argument.size() < 2 || argument[0] != '-') {
      without_names.push_back(argument);
    } else if (setter.SetByName(argument, i + 1 < arguments.size() ? &arguments[i + 1] : nullptr)) {
      ++i;
    }
  }
  setter.SetByPosition(without_names);
  return CommandLineAction::kRun;
}

const std::vector<std::string>& FilesOf(const std::string& flag) { return FileLists()[flag]; }

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
  const std::vector<Flag> flags = FlagsOf(tool);
  const auto describe = [](const Flag& flag) {
    std::string text = "  --" + flag.name;
    if (flag.type != "bool") text += "=" + TypeName(flag);
    const bool shows_default =
        flag.type == "bool" ? flag.default_value != "false" : !flag.default_value.empty();
    if (shows_default) text += "  (default: " + DefaultText(flag) + ")";
    return text + "\n" + Wrap(flag.description, 6);
  };
  std::string text = tool.usage + "\nFlags:\n";
  for (const std::string& name : tool.main_flags) text += describe(*Find(flags, name));
  text += "  --help, --version\n";
  for (const FlagSource& source : tool.sources) {
    std::string others;
    for (const Flag& flag : flags) {
      const bool is_other = flag.filename == source.file && !Contains(tool.main_flags, flag.name);
      if (is_other) others += describe(flag);
    }
    if (!others.empty()) text += "\n" + std::string(source.title) + ":\n" + others;
  }
  return text;
}

}  // namespace runnel
