#include "tools/server/protocol/deepgram_query.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "runtime/text/printable.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/typed_text.h"

namespace runnel::server {
namespace {

// Of a value that is wrong. Close frames have to tell what is expected too, in 123 bytes.
constexpr size_t kMaxShownBytes = 24;

// Parameters that both kinds of clients may give, besides those that change the form of the text.
// "token" is read as the bearer token.
constexpr std::array<std::string_view, 16> kShared = {
    "model",        "version",         "tag",       "mip_opt_out", "no_delay", "filler_words",
    "token",        "smart_format",    "punctuate", "keyterm",     "keywords", "language",
    "multichannel", "detect_language", "extra",     "tier"};
constexpr std::array<std::string_view, 9> kUnused = {"dictation",    "numerals", "profanity_filter",
                                                     "numbers",      "dates",    "times",
                                                     "measurements", "ner",      "alternatives"};

template <typename Names>
bool Has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool AsksForNothing(const std::string& name, const std::string& value) {
  return value.empty() || FlagIn(value) == std::optional(false) ||
         (name == "alternatives" && value == "1");  // which every result has
}

// "word:intensifier". A value without a number after a colon is a word.
WeightedPhrase Keyword(const std::string& value) {
  const size_t colon = value.rfind(':');
  if (colon == std::string::npos) return {value, 1};
  const auto weight = NumberIn<double>(std::string_view(value).substr(colon + 1));
  if (!weight.has_value()) return {value, 1};
  return {value.substr(0, colon), *weight};
}

}  // namespace

void FailParameter(const std::string& name, const std::string& value, const std::string& expected) {
  throw ClientMistake(ErrorCode::kBadOption, name + " is '" + Printable(value, kMaxShownBytes) +
                                                 "', expected " + expected);
}

void CheckParameters(const DeepgramQuery& query, const std::vector<std::string_view>& known) {
  for (const auto& [name, value] : query) {
    if (AsksForNothing(name, value) || Has(kShared, name) || Has(kUnused, name) ||
        Has(known, name)) {
      continue;
    }
    FailParameter(Printable(name, kMaxShownBytes), value,
                  "false or none: this server has no such parameter");
  }
}

DeepgramRemarks ReadRemarks(const DeepgramQuery& query,
                            const std::vector<std::string_view>& unused_here) {
  DeepgramRemarks remarks;
  for (const auto& [name, value] : query) {
    const bool is_unused = Has(kUnused, name) || Has(unused_here, name);
    if (is_unused && !AsksForNothing(name, value) && !Has(remarks.unused, name)) {
      remarks.unused.push_back(name);
    }
    if (name != "extra") continue;
    const size_t colon = std::min(value.find(':'), value.size());
    remarks.extra.emplace_back(value.substr(0, colon),
                               value.substr(std::min(colon + 1, value.size())));
  }
  const std::string detects = FindParameter(query, "detect_language").value_or("");
  remarks.detects_language = !AsksForNothing("detect_language", detects);  // or a list of languages
  remarks.language = ReadLanguage(query);
  return remarks;
}

std::optional<std::string> FindParameter(const DeepgramQuery& query, std::string_view name) {
  const auto found = std::find_if(query.rbegin(), query.rend(),
                                  [name](const auto& field) { return field.first == name; });
  if (found == query.rend()) return std::nullopt;
  return found->second;
}

bool ReadFlag(const DeepgramQuery& query, const std::string& name) {
  const std::string value = FindParameter(query, name).value_or("false");
  const std::optional<bool> flag = FlagIn(value);
  if (!flag.has_value()) FailParameter(name, value, "true or false");
  return *flag;
}

int ToInteger(const std::string& name, const std::string& value, int min, int max) {
  const std::optional<int> number = NumberIn<int>(value);
  if (!number.has_value() || *number < min || *number > max) {
    FailParameter(name, value,
                  "an integer from " + std::to_string(min) +
                      (max == kLimitedByServer ? "" : " to " + std::to_string(max)));
  }
  return *number;
}

std::optional<std::string> ReadLanguage(const DeepgramQuery& query) {
  std::optional<std::string> code = FindParameter(query, "language");
  return code == "" ? std::nullopt : code;
}

bool ReadPunctuates(const DeepgramQuery& query) {
  return ReadFlag(query, "punctuate") || ReadFlag(query, "smart_format");
}

std::vector<WeightedPhrase> ReadPhrases(const DeepgramQuery& query) {
  std::vector<WeightedPhrase> phrases;
  for (const auto& [name, value] : query) {
    if (name == "keyterm") phrases.push_back({value, 1});
    if (name != "keywords") continue;
    WeightedPhrase keyword = Keyword(value);
    if (keyword.weight > 0) phrases.push_back(std::move(keyword));
  }
  return phrases;
}

}  // namespace runnel::server
