#include "tools/decode/formats/json_text.h"

#include <utility>

#include "tools/cli/decimal.h"

namespace runnel {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const Hypothesis& hypothesis, const TokenTable& table) {
  Json tokens = Json::array();
  for (const Token& token : hypothesis.tokens) {
    tokens.push_back({{"token", table.name(token.id)},
                      {"id", token.id},
                      {"frame", token.frame},
                      {"start_ms", Rounded(token.start_ms)},
                      {"end_ms", Rounded(token.end_ms)},
                      {"confidence", Rounded(token.confidence)}});
  }
  Json words = Json::array();
  for (const Word& word : hypothesis.words) {
    words.push_back({{"word", word.text},
                     {"start_ms", Rounded(word.start_ms)},
                     {"end_ms", Rounded(word.end_ms)},
                     {"confidence", Rounded(word.confidence)}});
  }
  Json json = {{"text", hypothesis.text},
               {"score", Rounded(hypothesis.score)},
               {"tokens", std::move(tokens)},
               {"words", std::move(words)}};
  for (const HotwordMatch& match : hypothesis.hotwords) {
    json["hotwords"].push_back({{"phrase", match.phrase},
                                {"start_ms", Rounded(match.start_ms)},
                                {"end_ms", Rounded(match.end_ms)}});
  }
  return json;
}

}  // namespace

Json NBestJson(const std::vector<Hypothesis>& nbest, const TokenTable& tokens) {
  Json array = Json::array();
  for (const Hypothesis& hypothesis : nbest) array.push_back(ToJson(hypothesis, tokens));
  return array;
}

std::string JsonText(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace runnel
