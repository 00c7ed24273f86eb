#include "tools/decode/output_format.h"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "tools/cli/decimal.h"

namespace runnel {
namespace {

using Json = nlohmann::ordered_json;

std::string FormatText(const std::string& id, const RecordingResult& result, int nbest) {
  if (nbest == 1) return TextLine(id, result.hypotheses[0].text);
  std::string lines;
  for (size_t i = 0; i < result.hypotheses.size(); ++i) {
    lines += TextLine(id + "-" + std::to_string(i + 1), result.hypotheses[i].text);
  }
  return lines;
}

Json ToJson(const Hypothesis& hypothesis, const TokenTable& table) {
  Json tokens = Json::array();
  for (const Token& token : hypothesis.tokens) {
    tokens.push_back({{"token", table.name(token.id)},
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
  return {{"text", hypothesis.text},
          {"score", Rounded(hypothesis.score)},
          {"tokens", std::move(tokens)},
          {"words", std::move(words)}};
}

std::string FormatJson(const std::string& id, const RecordingResult& result,
                       const TokenTable& table) {
  Json nbest = Json::array();
  for (const Hypothesis& hypothesis : result.hypotheses) {
    nbest.push_back(ToJson(hypothesis, table));
  }
  const Json object = {{"id", id},
                       {"text", result.hypotheses.at(0).text},
                       {"audio_seconds", Rounded(result.audio_seconds)},
                       {"nbest", std::move(nbest)}};
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string FormatCtm(const std::string& id, const RecordingResult& result) {
  std::string lines;
  for (const Word& word : result.hypotheses.at(0).words) {
    lines += id + " 1 " + Decimal(word.start_ms / 1000, 3) + " " +
             Decimal((word.end_ms - word.start_ms) / 1000, 3) + " " + word.text + " " +
             Decimal(static_cast<double>(word.confidence), 3) + "\n";
  }
  return lines;
}

}  // namespace

std::string TextLine(const std::string& id, const std::string& text) {
  return text.empty() ? id + "\n" : id + " " + text + "\n";
}

OutputFormat ParseOutputFormat(const std::string& name) {
  if (name == "text") return OutputFormat::kText;
  if (name == "json") return OutputFormat::kJson;
  if (name == "ctm") return OutputFormat::kCtm;
  throw std::invalid_argument("--format is '" + name + "', expected text, json or ctm");
}

std::string FormatResult(OutputFormat format, const std::string& id, const RecordingResult& result,
                         int nbest, const TokenTable& tokens) {
  switch (format) {
    case OutputFormat::kText:
      return FormatText(id, result, nbest);
    case OutputFormat::kJson:
      return FormatJson(id, result, tokens);
    case OutputFormat::kCtm:
      return FormatCtm(id, result);
  }
  throw std::logic_error("unknown output format");
}

}  // namespace runnel
