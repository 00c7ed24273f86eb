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

void AppendRemarks(const DeepgramRemarks& remarks, const std::string& language,
                   bool has_found_language, const std::vector<std::string>& of_audio,
                   OrderedJson* metadata) {
  if (!remarks.extra.empty()) {
    OrderedJson extra = OrderedJson::object();
    for (const auto& [key, value] : remarks.extra) extra[key] = value;
    (*metadata)["extra"] = std::move(extra);
  }
  OrderedJson warnings = OrderedJson::array();
  const auto warn = [&warnings](const std::string& parameter, const std::string& type,
                                const std::string& message) {
    warnings.push_back({{"parameter", parameter}, {"type", type}, {"message", message}});
  };
  for (const std::string& name : remarks.unused) {
    warn(name, "unsupported_parameter", name + " has no effect on this server");
  }
  if (remarks.detects_language && !has_found_language) {
    warn("detect_language", "unsupported_parameter", "the model found no language");
  }
  const std::optional<std::string>& code = remarks.language;
  if (code.has_value() && code != "multi" && !MatchLanguage({language}, *code).has_value()) {
    warn("language", "unsupported_language",
         "language '" + Printable(*code, kMaxShownLanguage) +
             "' has no effect: clients cannot choose it with this model");
  }
  for (const std::string& text : of_audio) warn("audio", "audio", text);
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
