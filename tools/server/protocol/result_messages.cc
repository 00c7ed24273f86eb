#include "tools/server/protocol/result_messages.h"

#include <algorithm>

#include "runtime/text_joiner.h"
#include "tools/json/hypothesis_json.h"
#include "tools/json/json_text.h"

namespace runnel::server {
namespace {

// `{"type":<type>,"latency_ms":<latency>`, an object that the caller goes on with.
std::string OpeningOf(const char* type, double latency_ms) {
  std::string message = R"({"type":)";
  AppendString(type, &message);
  message += R"(,"latency_ms":)";
  AppendNumber(latency_ms, &message);
  return message;
}

void AppendField(const char* name, double value, std::string* json) {
  *json += name;
  AppendNumber(value, json);
}

// The fields of an utterance, without braces.
void AppendFields(const Utterance& utterance, const ResultParts& parts, const TokenTable& table,
                  std::string* json) {
  const bool has_results = !utterance.nbest.empty();
  *json += R"("index":)" + std::to_string(utterance.index);
  AppendField(R"(,"start_ms":)", utterance.start_ms, json);
  AppendField(R"(,"end_ms":)", utterance.end_ms, json);
  AppendField(R"(,"audio_ms":)", utterance.searched_ms, json);
  *json += R"(,"end":)";
  AppendString(NameOf(utterance.end), json);
  *json += R"(,"text":)";
  AppendString(has_results ? utterance.nbest.front().text : "", json);
  if (has_results) AppendLanguage(utterance.nbest.front(), json);
  const auto append_flag = [&](const char* name, bool value) {
    *json += name;
    *json += value ? "true" : "false";
  };
  append_flag(R"(,"begins_word":)", has_results && utterance.nbest.front().begins_word);
  append_flag(R"(,"ends_word":)", has_results && utterance.nbest.front().ends_word);
  const float confidence = has_results ? utterance.nbest.front().confidence : 0;
  AppendField(R"(,"confidence":)", static_cast<double>(confidence), json);
  *json += R"(,"nbest":)";
  AppendHypotheses(utterance.nbest, parts.max_results, parts.tokens, table, json);
}

bool HasText(const Utterance& utterance) {
  return !utterance.nbest.empty() && !utterance.nbest.front().text.empty();
}

}  // namespace

std::string JoinedTexts(const std::vector<Utterance>& utterances) {
  TextJoiner joiner;
  std::string text;
  for (const Utterance& utterance : utterances) {
    if (!utterance.nbest.empty()) text += joiner.Add(utterance.nbest.front());
  }
  return text;
}

std::vector<std::string> LanguagesOf(const std::vector<Utterance>& utterances) {
  std::vector<std::string> languages;
  for (const Utterance& utterance : utterances) {
    if (utterance.nbest.empty() || utterance.nbest.front().language.empty()) continue;
    const std::string& found = utterance.nbest.front().language;
    if (std::count(languages.begin(), languages.end(), found) == 0) languages.push_back(found);
  }
  return languages;
}

std::string UtteranceMessage(const char* type, const Utterance& utterance, const ResultParts& parts,
                             const TokenTable& table) {
  std::string message = OpeningOf(type, utterance.latency_ms) + ',';
  AppendFields(utterance, parts, table, &message);
  return message + '}';
}

std::string SegmentsReply(const std::vector<Utterance>& utterances, const ResultParts& parts,
                          const TokenTable& table) {
  std::string segments;
  for (const Utterance& utterance : utterances) {
    if (!HasText(utterance)) continue;
    segments += segments.empty() ? "{" : ",{";
    AppendFields(utterance, parts, table, &segments);
    segments += '}';
  }
  std::string reply = OpeningOf("final", utterances.empty() ? 0 : utterances.back().latency_ms);
  reply += R"(,"text":)";
  AppendString(JoinedTexts(utterances), &reply);
  AppendField(R"(,"audio_ms":)", utterances.empty() ? 0 : utterances.back().searched_ms, &reply);
  return reply + R"(,"segments":[)" + segments + "]}";
}

}  // namespace runnel::server
