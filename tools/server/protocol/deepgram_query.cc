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
constexpr std::array<std::string_view, 13> kShared = {
    "model",        "version",   "tag",     "mip_opt_out", "no_delay", "filler_words", "token",
    "smart_format", "punctuate", "keyterm", "keywords",    "language", "multichannel"};
constexpr std::array<std::string_view, 3> kTextForms = {"dictation", "numerals",
                                                        "profanity_filter"};

template <typename Names>
bool Has(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool AsksForNothing(const std::string& value) {
  return value.empty() || FlagIn(value) == std::optional(false);
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
    if (AsksForNothing(value) || Has(kShared, name) || Has(kTextForms, name) || Has(known, name)) {
      continue;
    }
    FailParameter(Printable(name, kMaxShownBytes), value,
                  "false or none: this server has no such parameter");
  }
}

std::vector<std::string> UnusedParameters(const DeepgramQuery& query) {
  std::vector<std::string> unused;
  for (const std::string_view name : kTextForms) {
    if (!AsksForNothing(FindParameter(query, name).value_or(""))) unused.emplace_back(name);
  }
  return unused;
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
