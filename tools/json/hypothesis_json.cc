#include "tools/json/hypothesis_json.h"

#include <algorithm>

#include "tools/json/json_text.h"

namespace runnel {
namespace {

// Writes a list of the first `most` items; `append` writes one item.
template <typename Item, typename Append>
void AppendList(const std::vector<Item>& items, size_t most, std::string* json, Append append) {
  *json += '[';
  for (size_t i = 0; i < std::min(items.size(), most); ++i) {
    if (i > 0) *json += ',';
    append(items[i]);
  }
  *json += ']';
}

void AppendTimes(double start_ms, double end_ms, std::string* json) {
  *json += R"(,"start_ms":)";
  AppendNumber(start_ms, json);
  *json += R"(,"end_ms":)";
  AppendNumber(end_ms, json);
}

void AppendConfidence(float confidence, std::string* json) {
  *json += R"(,"confidence":)";
  AppendNumber(static_cast<double>(confidence), json);
}

void AppendWord(const Word& word, std::string* json) {
  *json += R"({"text":)";
  AppendString(word.text, json);
  AppendTimes(word.start_ms, word.end_ms, json);
  AppendConfidence(word.confidence, json);
  *json += '}';
}

void AppendHotword(const HotwordMatch& match, std::string* json) {
  *json += R"({"phrase":)";
  AppendString(match.phrase, json);
  AppendTimes(match.start_ms, match.end_ms, json);
  *json += '}';
}

}  // namespace

void AppendLanguage(const Hypothesis& hypothesis, std::string* json) {
  if (hypothesis.language.empty()) return;
  *json += R"(,"language":)";
  AppendString(hypothesis.language, json);
}

void AddLanguage(const Hypothesis& hypothesis, std::string* object) {
  if (hypothesis.language.empty()) return;
  BeginField("language", object);
  AppendString(hypothesis.language, object);
  *object += '}';
}

void AppendTokens(const std::vector<Token>& tokens, const TokenTable& table, std::string* json) {
  AppendList(tokens, tokens.size(), json, [&](const Token& token) {
    *json += R"({"text":)";
    AppendString(table.name(token.id), json);
    *json += R"(,"id":)" + std::to_string(token.id);
    *json += R"(,"frame":)" + std::to_string(token.frame);
    AppendTimes(token.start_ms, token.end_ms, json);
    AppendConfidence(token.confidence, json);
    *json += '}';
  });
}

void AppendHypotheses(const std::vector<Hypothesis>& nbest, size_t max_results, bool wants_tokens,
                      const TokenTable& table, std::string* json) {
  AppendList(nbest, max_results, json, [&](const Hypothesis& hypothesis) {
    *json += R"({"text":)";
    AppendString(hypothesis.text, json);
    *json += R"(,"score":)";
    AppendNumber(hypothesis.score, json);
    AppendLanguage(hypothesis, json);
    if (wants_tokens) {
      *json += R"(,"tokens":)";
      AppendTokens(hypothesis.tokens, table, json);
    }
    *json += R"(,"words":)";
    AppendList(hypothesis.words, hypothesis.words.size(), json,
               [&](const Word& word) { AppendWord(word, json); });
    if (!hypothesis.hotwords.empty()) {
      *json += R"(,"hotwords":)";
      AppendList(hypothesis.hotwords, hypothesis.hotwords.size(), json,
                 [&](const HotwordMatch& match) { AppendHotword(match, json); });
    }
    *json += '}';
  });
}

}  // namespace runnel
