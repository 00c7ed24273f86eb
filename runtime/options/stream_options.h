// The table of the options of a stream: one row for each. The flags of the tools, the fields of the
// server's clients, the arguments in Python, the fields in C, their ranges, what they need, and the
// tables in the documents come from it.
#ifndef RUNNEL_RUNTIME_OPTIONS_STREAM_OPTIONS_H_
#define RUNNEL_RUNTIME_OPTIONS_STREAM_OPTIONS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/c_api.h"
#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/stream.h"

namespace runnel {

// What the rows set, without the files that some of them name.
struct OptionValues {
  StreamOptions stream;
  LanguageModelOptions language_model;
  double hotword_score = static_cast<double>(Hotwords::kDefaultScore);
};

// Of an option: true or false, an integer, a real number, or text. A choice is the text of its
// name.
using OptionValue = std::variant<bool, int64_t, double, std::string>;

// Where a value is stored.
template <typename Value>
using OptionField = Value& (*)(OptionValues& values);
// One of several names. The position of a name is its number, in C too. An empty name stands for
// the default and cannot be given.
struct OptionChoice {
  std::vector<std::string> names;
  std::function<int(OptionValues& values)> get;
  std::function<void(OptionValues& values, int number)> set;

  // The number of a name; -1: there is none.
  int NumberOf(const std::string& name) const;
};
// A file, or an object that was made of one: a word list, hotwords, a language model. It is no
// value.
struct OptionFile {};

// Where else than in C++, C and Python an option is offered.
enum class OptionUser {
  kDecodeWav,  // a flag of decode_wav
  kServer,     // a flag of stream_server: the default of its clients
  kClient,     // a field of the server's clients
  kLive        // a field of their live streams only
};

// An option and its value; "" for any.
struct OptionNeed {
  std::string_view name;
  std::string_view value;
};

struct StreamOption {
  // At every door. In the object "endpointing" of a client's message without "endpoint_".
  std::string name;
  std::variant<OptionFile, OptionField<bool>, OptionField<int>, OptionField<int64_t>,
               OptionField<double>, OptionField<std::string>, OptionChoice>
      field;
  // Of runtime/c_api.h; std::monostate: C has objects for it.
  std::variant<std::monostate, int32_t runnel_stream_options::*, int64_t runnel_stream_options::*,
               double runnel_stream_options::*, const char * runnel_stream_options::*>
      c_field;
  // Of a number.
  double least = 0;
  double most = 0;
  std::vector<std::pair<int64_t, std::string>> special;  // values beside the range: what they mean
  std::string unit;
  std::string meaning;  // a sentence or two
  OptionNeed needs;     // without which it has no effect; without a name: nothing
  std::vector<OptionUser> users;
  std::string former_flag;        // its name at the command line in earlier releases; "": the same
  std::string server_limit = {};  // the flag of stream_server that bounds it for clients; "": none

  bool IsOf(OptionUser user) const;
  bool is_file() const { return std::holds_alternative<OptionFile>(field); }
  // "0.1 to 86400 s", "greedy, beam or modified_beam".
  std::string Expected() const;
};

const std::vector<StreamOption>& StreamOptionTable();

// Null for a name that is not in the table.
const StreamOption* FindStreamOption(std::string_view name);
// Throws std::out_of_range for one.
const StreamOption& StreamOptionOf(std::string_view name);

// The value of an option that is no file.
OptionValue Get(const StreamOption& option, const OptionValues& values);

// Throws OptionError when `value` is out of the option's range. A value of another type than the
// option's is an error of the caller: std::bad_variant_access.
void Set(const StreamOption& option, const OptionValue& value, OptionValues* values);

// Throws OptionError for the first value that is out of its range. Not for the rules of endpoints:
// in C++ they may be shorter than elsewhere (EndpointOptions::Validate).
void CheckRanges(const OptionValues& values);

// Options, and which of them somebody has chosen.
struct ChosenOptions {
  OptionValues values;
  std::set<std::string, std::less<>> names;  // of the chosen ones, files included

  bool Has(std::string_view name) const { return names.count(name) > 0; }
  // Throws as runnel::Set does.
  void Set(const StreamOption& option, const OptionValue& value);
  void Set(const std::string& name, const OptionValue& value) { Set(StreamOptionOf(name), value); }
  // Phrases that have been prepared; null: none.
  void SetHotwords(std::shared_ptr<const Hotwords> hotwords);
};

// Selects the beam search where an option that was chosen needs one and no search was chosen. Then
// throws OptionError for a chosen option without effect, as each needs another one.
void CompleteSearch(ChosenOptions* options);

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_OPTIONS_STREAM_OPTIONS_H_
