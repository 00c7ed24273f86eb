// The flags of a table of options (runtime/options/).
#ifndef RUNNEL_TOOLS_CLI_OPTION_FLAGS_H_
#define RUNNEL_TOOLS_CLI_OPTION_FLAGS_H_

#include <gflags/gflags.h>

#include <deque>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "runtime/options/option_row.h"
#include "tools/cli/command_line.h"

namespace runnel {

// One per program and table, a static object: gflags must know its flags before main. Beside the
// flags' names it accepts those of earlier releases (OptionRow::former_flag). An empty text is the
// choice "default", too.
template <typename Row>
class OptionFlags {
 public:
  // Makes a flag of each option of `user`. `source_file`: for ToolInfo::sources.
  OptionFlags(const std::vector<Row>& table, OptionUser user, const char* source_file);
  OptionFlags(const OptionFlags&) = delete;
  OptionFlags& operator=(const OptionFlags&) = delete;

  // Calls see(row, value) for each flag, given or not. The value of an OptionFile is a path; "":
  // none. Throws std::invalid_argument naming flag and value for a name that is none of the flag's.
  template <typename See>
  void ForEach(const See& see) const {
    for (const Flag& flag : flags_) see(*flag.option, ValueOf(flag));
  }

 private:
  // A flag of gflags, which keeps pointers to it.
  struct Flag {
    const Row* option;
    std::string help;
    OptionValue value, default_value;
  };

  static std::string HelpOf(const Row& option);
  static OptionValue DefaultOf(const Row& option);
  static OptionValue ValueOf(const Flag& flag);

  std::deque<Flag> flags_;
};

constexpr char kDefaultChoice[] = "default";

template <typename Row>
OptionFlags<Row>::OptionFlags(const std::vector<Row>& table, OptionUser user,
                              const char* source_file) {
  for (const Row& option : table) {
    if (!option.IsOf(user)) continue;
    const OptionValue value = DefaultOf(option);
    Flag& flag = flags_.emplace_back(Flag{&option, HelpOf(option), value, value});
    std::visit(
        [&](auto& current) {
          auto& initial = std::get<std::decay_t<decltype(current)>>(flag.default_value);
          gflags::FlagRegisterer(option.flag_name().c_str(), flag.help.c_str(), source_file,
                                 &current, &initial);
        },
        flag.value);
    if (!option.former_flag.empty()) AcceptFormerFlag(option.former_flag, option.flag_name());
  }
}

// The meaning of an option, its range and what it needs.
template <typename Row>
std::string OptionFlags<Row>::HelpOf(const Row& option) {
  std::string help = option.meaning;
  const bool is_choice = std::holds_alternative<typename Row::Choice>(option.field);
  if (option.is_number() || (is_choice && option.name != "search")) {
    help += " " + option.Expected() + ".";
  }
  if (!option.truth_names.empty()) help += " " + Listed(option.truth_names) + ".";
  if (option.needs.name.empty() || option.is_file() || option.name == "rescoring") return help;
  const std::string value(option.needs.value);
  return help + " Needs --" + std::string(option.needs.name) +
         (value.empty() || value == "true" ? "" : "=" + value) + ".";
}

template <typename Row>
OptionValue OptionFlags<Row>::DefaultOf(const Row& option) {
  if (option.is_file()) return std::string();
  const OptionValue value = Get(option, typename Row::Values());
  const std::vector<std::string>& truth_names = option.truth_names;
  if (!truth_names.empty()) return truth_names[std::get<bool>(value) ? 1 : 0];
  return value == OptionValue(kDefaultChoice) ? OptionValue(std::string()) : value;
}

template <typename Row>
OptionValue OptionFlags<Row>::ValueOf(const Flag& flag) {
  const Row& option = *flag.option;
  if (const std::vector<std::string>& names = option.truth_names; !names.empty()) {
    if (flag.value == OptionValue(names[0])) return false;
    if (flag.value == OptionValue(names[1])) return true;
    FailAsOutOfRange(option.flag_name(), flag.value, Listed(names));
  }
  if (option.is_file() || flag.value != OptionValue(std::string())) return flag.value;
  const OptionValue value = Get(option, typename Row::Values());
  return value == OptionValue(kDefaultChoice) ? value : flag.value;
}

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_OPTION_FLAGS_H_
