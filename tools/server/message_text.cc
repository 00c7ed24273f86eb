#include "tools/server/message_text.h"

#include <algorithm>
#include <utility>

#include "runtime/utf8.h"
#include "tools/decimal.h"

namespace runnel::server {
namespace {

// The fields that tokens and words share.
OrderedJson TimedText(const std::string& text, double start_ms, double end_ms, float confidence) {
  return {{"text", text},
          {"start_ms", Rounded(start_ms)},
          {"end_ms", Rounded(end_ms)},
          {"confidence", Rounded(static_cast<double>(confidence))}};
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
    return (byte & 0xC0) != 0x80;  // every byte but those that continue a character
  });
}

OrderedJson TokensJson(const std::vector<Token>& tokens, const TokenTable& table) {
  OrderedJson list = OrderedJson::array();
  for (const Token& token : tokens) {
    list.push_back(
        TimedText(table.symbol(token.id), token.start_ms, token.end_ms, token.confidence));
  }
  return list;
}

OrderedJson ResultJson(const std::vector<Hypothesis>& nbest, double audio_ms, bool wants_tokens,
                       const TokenTable& table) {
  OrderedJson list = OrderedJson::array();
  for (const Hypothesis& hypothesis : nbest) {
    OrderedJson words = OrderedJson::array();
    for (const Word& word : hypothesis.words) {
      words.push_back(TimedText(word.text, word.start_ms, word.end_ms, word.confidence));
    }
    OrderedJson entry = {{"text", hypothesis.text}, {"score", Rounded(hypothesis.score)}};
    if (wants_tokens) entry["tokens"] = TokensJson(hypothesis.tokens, table);
    entry["words"] = std::move(words);
    list.push_back(std::move(entry));
  }
  return {{"text", nbest.empty() ? "" : nbest[0].text},
          {"audio_ms", Rounded(audio_ms)},
          {"nbest", std::move(list)}};
}

}  // namespace runnel::server
