#include "tools/server/protocol/message_text.h"

#include <algorithm>
#include <cmath>

#include "runtime/text/utf8.h"
#include "tools/cli/decimal.h"

namespace runnel::server {
namespace {

// Smaller numbers fit an int64_t of ten-thousandths.
constexpr double kMaxFixedPoint = 1e11;

// Whether the text needs no escape in a JSON string.
bool IsPlain(std::string_view text) {
  return IsUtf8(text) && std::none_of(text.begin(), text.end(), [](unsigned char byte) {
           return byte < 0x20 || byte == '"' || byte == '\\';
         });
}

// Writes one token or word.
void AppendTimed(std::string_view text, double start_ms, double end_ms, float confidence,
                 std::string* json) {
  *json += R"({"text":)";
  AppendString(text, json);
  *json += R"(,"start_ms":)";
  AppendNumber(start_ms, json);
  *json += R"(,"end_ms":)";
  AppendNumber(end_ms, json);
  *json += R"(,"confidence":)";
  AppendNumber(static_cast<double>(confidence), json);
  *json += '}';
}

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

}  // namespace

std::string MessageText(const OrderedJson& message) {
  return message.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string OneLine(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char byte) { return byte < 0x20 || byte == 0x7F; },
      ' ');
  return text;
}

std::string ValidText(const std::string& text) {
  if (IsUtf8(text)) return text;
  return OrderedJson::parse(MessageText(text)).get<std::string>();
}

int64_t NumCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](unsigned char byte) {
    return (byte & 0xC0) != 0x80;  // not a continuation byte
  });
}

void AppendString(std::string_view text, std::string* json) {
  if (!IsPlain(text)) {
    *json += MessageText(text);
    return;
  }
  *json += '"';
  *json += text;
  *json += '"';
}

void AppendNumber(double value, std::string* json) {
  if (!(std::abs(value) < kMaxFixedPoint)) {
    *json += MessageText(Rounded(value));
    return;
  }
  const int64_t ten_thousandths = std::llround(value * 1e4);
  if (ten_thousandths < 0) *json += '-';
  const uint64_t size = static_cast<uint64_t>(std::abs(ten_thousandths));
  *json += std::to_string(size / 10000);
  std::string decimals = std::to_string(10000 + size % 10000);
  decimals[0] = '.';
  while (decimals.size() > 2 && decimals.back() == '0') decimals.pop_back();
  *json += decimals;
}

void AppendTokens(const std::vector<Token>& tokens, const TokenTable& table, std::string* json) {
  AppendList(tokens, tokens.size(), json, [&](const Token& token) {
    AppendTimed(table.name(token.id), token.start_ms, token.end_ms, token.confidence, json);
  });
}

void BeginField(std::string_view name, std::string* object) {
  object->back() = ',';
  AppendString(name, object);
  *object += ':';
}

void AppendResults(const std::vector<Hypothesis>& nbest, size_t max_results, bool wants_tokens,
                   const TokenTable& table, std::string* json) {
  AppendList(nbest, max_results, json, [&](const Hypothesis& hypothesis) {
    *json += R"({"text":)";
    AppendString(hypothesis.text, json);
    *json += R"(,"score":)";
    AppendNumber(hypothesis.score, json);
    if (wants_tokens) {
      *json += R"(,"tokens":)";
      AppendTokens(hypothesis.tokens, table, json);
    }
    *json += R"(,"words":)";
    AppendList(hypothesis.words, hypothesis.words.size(), json, [&](const Word& word) {
      AppendTimed(word.text, word.start_ms, word.end_ms, word.confidence, json);
    });
    if (!hypothesis.hotwords.empty()) {
      *json += R"(,"hotwords":)";
      AppendList(hypothesis.hotwords, hypothesis.hotwords.size(), json,
                 [&](const HotwordMatch& match) {
                   *json += R"({"phrase":)";
                   AppendString(match.phrase, json);
                   *json += R"(,"start_ms":)";
                   AppendNumber(match.start_ms, json);
                   *json += R"(,"end_ms":)";
                   AppendNumber(match.end_ms, json);
                   *json += '}';
                 });
    }
    *json += '}';
  });
}

}  // namespace runnel::server
