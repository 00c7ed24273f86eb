// The checks of the options' structs, by the table.
#include <cstddef>
#include <stdexcept>
#include <string>

#include "runtime/endpoint_options.h"
#include "runtime/language_model.h"
#include "runtime/options/option_error.h"
#include "runtime/options/stream_options.h"
#include "runtime/search_options.h"
#include "runtime/text/require_range.h"

namespace runnel {

void SearchOptions::Validate() const {
  OptionValues values;
  values.stream.search = *this;
  CheckRanges(values);
  if (method != SearchMethod::kGreedy) return;
  const char* needs_beam = word_list != nullptr        ? "word_list"
                           : hotwords != nullptr       ? "hotwords"
                           : language_model != nullptr ? "language_model"
                           : rescoring.enabled         ? "rescoring"
                                                       : nullptr;
  if (needs_beam == nullptr) return;
  throw OptionError(OptionName(needs_beam) + " needs " + OptionName("search", "beam"));
}

void EndpointOptions::Validate() const {
  for (size_t i = 0; i < rules.size(); ++i) {
    const std::string rule = "endpoints.rules[" + std::to_string(i) + "].";
    RequireInRange(rule + "min_silence_s", rules[i].min_silence_s, 0, kMaxSeconds, "s");
    RequireInRange(rule + "min_utterance_s", rules[i].min_utterance_s, 0, kMaxSeconds, "s");
  }
  constexpr double kLowest = 1e-6;
  RequireInRange("endpoints.silence_blank_probability", silence_blank_probability, kLowest, 1);
}

void LanguageModelOptions::Validate() const {
  OptionValues values;
  values.language_model = *this;
  CheckRanges(values);
}

}  // namespace runnel
