#include "tools/server/protocol/deepgram_query.h"

#include <algorithm>
#include <cstddef>

#include "runtime/text/printable.h"
#include "tools/server/protocol/client_json.h"
#include "tools/server/protocol/typed_text.h"

namespace runnel::server {
namespace {

// Of a value that is wrong. Close frames have to tell what is expected too, in 123 bytes.
constexpr size_t kMaxShownBytes = 24;

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
