// The table of the options of a stream: one row for each, and what the options need of each other.
#ifndef RUNNEL_RUNTIME_OPTIONS_STREAM_OPTIONS_H_
#define RUNNEL_RUNTIME_OPTIONS_STREAM_OPTIONS_H_

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/c_api.h"
#include "runtime/hotwords.h"
#include "runtime/language_model.h"
#include "runtime/options/option_row.h"
#include "runtime/stream.h"

namespace runnel {

// What the rows set, without the files that some of them name.
struct OptionValues {
  StreamOptions stream;
  LanguageModelOptions language_model;
  double hotword_score = static_cast<double>(Hotwords::kDefaultScore);
};

using StreamOption = OptionRow<OptionValues, runnel_stream_options>;
template <typename Value>
using OptionField = StreamOption::Field<Value>;
using OptionChoice = StreamOption::Choice;

const std::vector<StreamOption>& StreamOptionTable();

// Null for a name that is not in the table.
const StreamOption* FindStreamOption(std::string_view name);
// Throws std::out_of_range for one.
const StreamOption& StreamOptionOf(std::string_view name);

// Whether an option needs endpoint rules, itself or by the option that it needs: a field of the
// object "endpointing" of a client's message.
bool NeedsEndpointing(const StreamOption& option);

// Throws OptionError for the first value that is out of its range. Not for the numbers of endpoint
// rules: in C++ they may be smaller than elsewhere (EndpointOptions::Validate).
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
