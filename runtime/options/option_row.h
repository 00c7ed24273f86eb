// A row of a table of options: what an option is called, where it is stored, what it may be. Flags,
// fields of clients, arguments in Python, fields in C, checks and documents are made from rows.
#ifndef RUNNEL_RUNTIME_OPTIONS_OPTION_ROW_H_
#define RUNNEL_RUNTIME_OPTIONS_OPTION_ROW_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace runnel {

// Of an option: true or false, an integer, a real number, or text. A choice is the text of its
// name.
using OptionValue = std::variant<bool, int64_t, double, std::string>;

// A file, or an object that was made of one: a word list, hotwords, a language model. It is no
// value.
struct OptionFile {};

// Where else than in C++, C and Python an option is offered.
enum class OptionUser {
  kDecodeWav,  // a flag of decode_wav
  kServer,     // a flag of stream_server: the default of its clients
  kClient,     // a field of the server's clients
  kLive,       // a field of their live streams only
  kModelTool   // a flag of every tool that runs a model
};

// An option and its value; "" for any.
struct OptionNeed {
  std::string_view name;
  std::string_view value;
};

// A number beside an option's range.
struct SpecialNumber {
  int64_t value;
  std::string meaning;
  bool is_most = false;  // it asks for more than any number of the range
};

// What a row says about an option, whatever struct it is stored in.
struct OptionInfo {
  // At every door. In the object "endpointing" of a client's message without "endpoint_".
  std::string name;
  // Of a number.
  double least = 0;
  double most = 0;
  std::vector<SpecialNumber> special;
  std::string unit;
  std::string meaning;  // a sentence or two
  OptionNeed needs;     // without which it has no effect; without a name: nothing
  std::vector<OptionUser> users;
  std::string former_flag;   // its name at the command line in earlier releases; "": the same
  std::string server_limit;  // the flag of stream_server that bounds it for clients; "": none
  // The head without which any value but the default is refused; "": it has an effect with each.
  std::string head;
  std::string own_flag;  // the name of its flag; "": the option's
  std::vector<std::string>
      truth_names;  // what the flag calls false and true; none: it has no value

  bool IsOf(OptionUser user) const;
  // Null for a number that is not special.
  const SpecialNumber* SpecialOf(int64_t value) const;
  const std::string& flag_name() const { return own_flag.empty() ? name : own_flag; }
  // Of a value that is no number: true.
  bool IsInRange(const OptionValue& value) const;
  // "0.1 to 86400 s", of a number.
  std::string ExpectedNumber() const;
};

// An option of the struct Options, which is COptions in runtime/c_api.h.
template <typename Options, typename COptions>
struct OptionRow : OptionInfo {
  using Values = Options;
  using CValues = COptions;

  // Where a value is stored.
  template <typename Value>
  using Field = Value& (*)(Options& options);
  // The path of a file, as text.
  struct Path {
    Field<std::string> field;
    std::string& operator()(Options& options) const { return field(options); }
  };
  // One of several names. The position of a name is its number, in C too. An empty name stands for
  // the default and cannot be given.
  struct Choice {
    std::vector<std::string> names;
    std::function<int(Options& options)> get;
    std::function<void(Options& options, int number)> set;

    // Of an enumeration, whose numbers are the positions of the names.
    template <typename Enum>
    Choice(std::vector<std::string> names_of_numbers, Field<Enum> stored)
        : names(std::move(names_of_numbers)),
          get([stored](Options& options) { return static_cast<int>(stored(options)); }),
          set([stored](Options& options, int number) {
            stored(options) = static_cast<Enum>(number);
          }) {}

    // The number of a name; -1: there is none.
    int NumberOf(const std::string& name) const {
      const auto found = std::find(names.begin(), names.end(), name);
      return found == names.end() ? -1 : static_cast<int>(found - names.begin());
    }
  };

  using AnyField = std::variant<OptionFile, Path, Field<bool>, Field<int>, Field<int64_t>,
                                Field<double>, Field<std::string>, Choice>;
  using AnyCField = std::variant<std::monostate, int32_t COptions::*, int64_t COptions::*,
                                 double COptions::*, const char * COptions::*>;

  AnyField field;
  AnyCField c_field;  // std::monostate: C has objects for it

  OptionRow(std::string option_name, AnyField stored, AnyCField c_stored, double from, double to,
            std::vector<SpecialNumber> beside, std::string in_unit, std::string means,
            OptionNeed needed, std::vector<OptionUser> offered_to, std::string former = "",
            std::string limit = "", std::string of_head = "", std::string flag = "",
            std::vector<std::string> names_of_truth = {})
      : OptionInfo{std::move(option_name),
                   from,
                   to,
                   std::move(beside),
                   std::move(in_unit),
                   std::move(means),
                   needed,
                   std::move(offered_to),
                   std::move(former),
                   std::move(limit),
                   std::move(of_head),
                   std::move(flag),
                   std::move(names_of_truth)},
        field(std::move(stored)),
        c_field(c_stored) {}

  bool is_file() const { return std::holds_alternative<OptionFile>(field); }
  bool is_number() const {
    return std::holds_alternative<Field<int>>(field) ||
           std::holds_alternative<Field<int64_t>>(field) ||
           std::holds_alternative<Field<double>>(field);
  }
  // "0.1 to 86400 s", "greedy, beam or modified_beam".
  std::string Expected() const;
};

// "a, b or c".
std::string Listed(const std::vector<std::string>& names);

// Throws OptionError "NAME is VALUE, expected EXPECTED".
[[noreturn]] void FailAsOutOfRange(const std::string& name, const OptionValue& value,
                                   const std::string& expected);

// Null for a name that is not in the table.
template <typename Row>
const Row* FindOption(const std::vector<Row>& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(),
                                  [&](const Row& option) { return option.name == name; });
  return found == table.end() ? nullptr : &*found;
}

// The value of an option that is no file.
template <typename Options, typename COptions>
OptionValue Get(const OptionRow<Options, COptions>& option, const Options& options) {
  using Row = OptionRow<Options, COptions>;
  // The functions of the table return what may be set, but are only read here.
  auto& all = const_cast<Options&>(options);
  return std::visit(
      [&](const auto& field) -> OptionValue {
        using Field = std::decay_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, OptionFile>) {
          throw std::invalid_argument(option.name + " is no value");
        } else if constexpr (std::is_same_v<Field, typename Row::Choice>) {
          const int number = field.get(all);
          const auto index = static_cast<size_t>(number);
          return index < field.names.size() ? field.names[index] : std::to_string(number);
        } else if constexpr (std::is_same_v<Field, typename Row::template Field<int>>) {
          return int64_t{field(all)};
        } else {
          return field(all);
        }
      },
      option.field);
}

// Throws OptionError when `value` is out of the option's range. A value of another type than the
// option's is an error of the caller: std::bad_variant_access.
template <typename Options, typename COptions>
void Set(const OptionRow<Options, COptions>& option, const OptionValue& value, Options* options) {
  using Row = OptionRow<Options, COptions>;
  if (!option.IsInRange(value)) {
    FailAsOutOfRange(option.name, value, option.Expected());
  }
  std::visit(
      [&](const auto& field) {
        using Field = std::decay_t<decltype(field)>;
        if constexpr (std::is_same_v<Field, OptionFile>) {
          throw std::invalid_argument(option.name + " is no value");
        } else if constexpr (std::is_same_v<Field, typename Row::Choice>) {
          const int number = field.NumberOf(std::get<std::string>(value));
          if (number < 0) FailAsOutOfRange(option.name, value, option.Expected());
          field.set(*options, number);
        } else if constexpr (std::is_same_v<Field, typename Row::template Field<int>>) {
          field(*options) = static_cast<int>(std::get<int64_t>(value));
        } else {
          auto& target = field(*options);
          target = std::get<std::decay_t<decltype(target)>>(value);
        }
      },
      option.field);
}

// Throws OptionError when the value of an option that is no file is out of its range.
template <typename Options, typename COptions>
void CheckRange(const OptionRow<Options, COptions>& option, const Options& options) {
  using Choice = typename OptionRow<Options, COptions>::Choice;
  const OptionValue value = Get(option, options);
  const auto* const choice = std::get_if<Choice>(&option.field);
  const bool is_named = choice == nullptr || choice->NumberOf(std::get<std::string>(value)) >= 0;
  if (is_named && option.IsInRange(value)) return;
  FailAsOutOfRange(option.name, value, option.Expected());
}

template <typename Options, typename COptions>
std::string OptionRow<Options, COptions>::Expected() const {
  if (const Choice* choice = std::get_if<Choice>(&field)) {
    std::vector<std::string> names;
    for (const std::string& choosable : choice->names) {
      if (!choosable.empty()) names.push_back(choosable);
    }
    return Listed(names);
  }
  if (std::holds_alternative<Field<bool>>(field)) return "true or false";
  return ExpectedNumber();
}

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_OPTIONS_OPTION_ROW_H_
