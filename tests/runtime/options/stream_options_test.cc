// The table of the options of a stream: its rows, and what is refused by them.
#include "runtime/options/stream_options.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "runtime/options/option_error.h"
#include "tests/support/error_message.h"
#include "tests/support/option_fields.h"

namespace runnel {
namespace {

using testing::ErrorMessage;
using testing::NumFieldsInC;
using testing::NumOptionFields;

TEST(StreamOptionTable, EveryRowIsWhole) {
  std::set<std::string> names;
  for (const StreamOption& option : StreamOptionTable()) {
    SCOPED_TRACE(option.name);
    EXPECT_TRUE(names.insert(option.name).second);
    EXPECT_TRUE(option.former_flag.empty() || names.insert(option.former_flag).second);
    EXPECT_FALSE(option.meaning.empty());
    EXPECT_EQ(option.meaning.back(), '.');
    EXPECT_TRUE(option.needs.name.empty() || FindStreamOption(option.needs.name) != nullptr);
    if (option.is_file()) continue;
    // The default is in the range, and the value that is set is the value that is read.
    OptionValues values;
    const OptionValue value = Get(option, values);
    if (value != OptionValue(std::string())) Set(option, value, &values);
    EXPECT_EQ(Get(option, values), value);
  }
  CheckRanges(OptionValues());
}

// All fields of C's struct but its size, its objects and its callback: none is forgotten, none has
// two options.
TEST(StreamOptionTable, CHasAFieldForEachOption) {
  constexpr size_t kOthers = 6;  // struct_size, three objects, on_update, user_data
  EXPECT_EQ(NumOptionFields(StreamOptionTable()), NumFieldsInC("runnel_stream_options") - kOthers);
}

TEST(StreamOptionTable, ANumberOutOfItsRangeIsRefused) {
  for (const StreamOption& option : StreamOptionTable()) {
    if (!(option.least < option.most)) continue;
    SCOPED_TRACE(option.name);
    OptionValues values;
    const OptionValue before = Get(option, values);
    const bool is_real = std::holds_alternative<double>(before);
    for (const double value :
         {option.least - 1, option.most + 1, std::numeric_limits<double>::quiet_NaN()}) {
      if (!is_real && value != value) continue;
      const auto integer = static_cast<int64_t>(is_real ? 0 : value);
      if (!is_real && option.SpecialOf(integer) != nullptr) continue;
      const OptionValue wrong = is_real ? OptionValue(value) : OptionValue(integer);
      EXPECT_NE(ErrorMessage<OptionError>([&] {
                  Set(option, wrong, &values);
                }).find(", expected " + option.Expected()),
                std::string::npos);
      EXPECT_EQ(Get(option, values), before);
    }
    for (const SpecialNumber& special : option.special) Set(option, special.value, &values);
  }
  OptionValues values;
  EXPECT_EQ(ErrorMessage<OptionError>(
                [&] { Set(StreamOptionOf("beam_size"), int64_t{1} << 40, &values); }),
            "beam_size is 1099511627776, expected 1 to 10000");
  EXPECT_EQ(ErrorMessage<OptionError>([&] { Set(StreamOptionOf("search"), "best", &values); }),
            "search is 'best', expected greedy, beam or modified_beam");
}

TEST(OptionError, IsSpelledAsTheCallerDoes) {
  const OptionError error(OptionName("rescoring") + " needs " + OptionName("search", "beam") +
                          ", not " + OptionName("endpointing", "true"));
  EXPECT_STREQ(error.what(), "rescoring needs search=beam, not endpointing=true");
  EXPECT_EQ(error.In(FlagOption), "--rescoring needs --search=beam, not --endpointing");
  EXPECT_EQ(error.In(PythonOption), "rescoring needs search='beam', not endpointing=True");
}

std::string Uselessness(const ChosenOptions& chosen) {
  ChosenOptions options = chosen;
  try {
    CompleteSearch(&options);
  } catch (const OptionError& error) {
    return error.what();
  }
  return "";
}

// An option that was chosen alone is refused if it needs another one and does not select it; with
// what it needs it is not.
TEST(CompleteSearch, EachOptionNeedsWhatItsRowSays) {
  const std::set<std::string> select_beam = {"word_list", "hotwords", "language_model"};
  for (const StreamOption& option : StreamOptionTable()) {
    SCOPED_TRACE(option.name);
    ChosenOptions options;
    if (option.is_file()) {
      options.names.insert(option.name);
    } else {
      const OptionValue value = Get(option, options.values);
      if (value != OptionValue(std::string())) options.Set(option, value);
    }
    const std::string needed =
        std::string(option.needs.name) +
        (option.needs.value.empty() ? "" : "=" + std::string(option.needs.value));
    const bool is_useless = !needed.empty() && select_beam.count(option.name) == 0 &&
                            option.name != "rescoring";  // false, which asks for nothing
    EXPECT_EQ(Uselessness(options), is_useless ? option.name + " needs " + needed : "");
    if (!is_useless) continue;
    for (OptionNeed need = option.needs; !need.name.empty();) {
      const StreamOption& other = StreamOptionOf(need.name);
      if (other.is_file()) {
        options.names.insert(other.name);
      } else if (need.value == "true") {
        options.Set(other, true);
      } else if (need.value.empty()) {
        options.Set(other, int64_t{1});
      } else {
        options.Set(other, std::string(need.value));
      }
      need = other.needs;
    }
    EXPECT_EQ(Uselessness(options), "");
  }
}

TEST(CompleteSearch, WhatAnOptionNeedsMustHaveAnEffectItself) {
  ChosenOptions options;
  options.values.stream.endpoints.skip_silence = true;  // a default of a server
  options.Set("endpointing", false);
  options.Set("skip_silence_lead_s", 0.3);
  EXPECT_EQ(Uselessness(options), "skip_silence_lead_s needs endpointing=true");
}

TEST(CompleteSearch, SelectsTheBeamWhereNoSearchIsChosen) {
  for (const char* name : {"word_list", "hotwords", "language_model"}) {
    ChosenOptions options;
    options.names.insert(name);
    CompleteSearch(&options);
    EXPECT_EQ(options.values.stream.search.method, SearchMethod::kPrefixBeam) << name;
    options.Set("search", "greedy");
    EXPECT_EQ(Uselessness(options), std::string(name) + " needs search=beam");
  }
  ChosenOptions options;
  options.Set("rescoring", true);
  CompleteSearch(&options);
  EXPECT_EQ(options.values.stream.search.method, SearchMethod::kPrefixBeam);
}

TEST(CompleteSearch, ABeamHoldsAsManyResultsAsAreAskedFor) {
  ChosenOptions options;
  options.Set("nbest", int64_t{2});
  EXPECT_EQ(Uselessness(options), "nbest is 2, expected at most 1 with search=greedy");
  options.Set("search", "beam");
  options.Set("beam_size", int64_t{1});
  EXPECT_EQ(Uselessness(options), "nbest is 2, expected at most 1 with beam_size=1");
  options.Set("beam_size", int64_t{2});
  EXPECT_EQ(Uselessness(options), "");
}

}  // namespace
}  // namespace runnel
