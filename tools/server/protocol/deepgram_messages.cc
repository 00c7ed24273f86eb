#include "tools/server/protocol/deepgram_messages.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <ctime>
#include <optional>
#include <string_view>
#include <utility>

#include "runtime/text/printable.h"
#include "tools/cli/decimal.h"
#include "tools/server/protocol/language_match.h"
#include "tools/server/protocol/protocol_error.h"

namespace runnel::server {
namespace {

constexpr size_t kMaxShownLanguage = 24;  // bytes

}  // namespace

std::string DeepgramNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::string text(32, '\0');
  text.resize(std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc));
  return text;
}

std::string Hexadecimal(const std::string& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string digits;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    digits += kDigits[byte / 16];
    digits += kDigits[byte % 16];
  }
  return digits;
}

float MeanConfidence(const std::vector<Word>& words) {
  if (words.empty()) return 0;
  float sum = 0;
  for (const Word& word : words) sum += word.confidence;
  return sum / static_cast<float>(words.size());
}

OrderedJson DeepgramWords(const std::vector<Word>& words, bool punctuates) {
  OrderedJson list = OrderedJson::array();
  for (const Word& word : words) {
    OrderedJson item = {{"word", word.text},
                        {"start", Rounded(word.start_ms / 1000)},
                        {"end", Rounded(word.end_ms / 1000)},
                        {"confidence", Rounded(static_cast<double>(word.confidence))}};
    if (punctuates) item["punctuated_word"] = word.text;
    list.push_back(std::move(item));
  }
  return list;
}

OrderedJson DeepgramAlternative(const std::string& text, const std::vector<Word>& words,
                                const std::vector<std::string>& languages, bool punctuates) {
  OrderedJson alternative = {{"transcript", text},
                             {"confidence", Rounded(static_cast<double>(MeanConfidence(words)))},
                             {"words", DeepgramWords(words, punctuates)}};
  if (!languages.empty()) alternative["languages"] = languages;
  return alternative;
}

void AppendWarnings(const std::vector<std::string>& unused_parameters,
                    const std::optional<std::string>& code, const std::string& language,
                    const std::vector<std::string>& of_audio, OrderedJson* metadata) {
  OrderedJson warnings = OrderedJson::array();
  for (const std::string& name : unused_parameters) {
    warnings.push_back({{"parameter", name},
                        {"type", "unsupported_parameter"},
                        {"message", name + " has no effect: the text is what the model writes"}});
  }
  if (code.has_value() && code != "multi" && !MatchLanguage({language}, *code).has_value()) {
    warnings.push_back(
        {{"parameter", "language"},
         {"type", "unsupported_language"},
         {"message", "language '" + Printable(*code, kMaxShownLanguage) +
                         "' has no effect: clients cannot choose it with this model"}});
  }
  for (const std::string& text : of_audio) {
    warnings.push_back({{"parameter", "audio"}, {"type", "audio"}, {"message", text}});
  }
  if (!warnings.empty()) (*metadata)["warnings"] = std::move(warnings);
}

OrderedJson DeepgramModelInfo(const std::string& model_name) {
  return {{"name", model_name}, {"version", ""}, {"arch", "runnel"}};
}

HttpReply DeepgramReply(HttpReply reply, const std::string& request_id) {
  reply.headers.emplace_back("dg-request-id", request_id);
  if (!reply.error.has_value()) return reply;
  std::string code = reply.error->code;
  if (code == CodeName(ErrorCode::kBadOption)) code = "invalid_query_parameter";
  std::transform(code.begin(), code.end(), code.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const std::string message = Printable(reply.error->message);
  reply.body =
      JsonText({{"err_code", code}, {"err_msg", message}, {"request_id", request_id}}) + "\n";
  reply.headers.emplace_back("dg-error", message);
  return reply;
}

}  // namespace runnel::server
