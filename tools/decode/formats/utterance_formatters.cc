#include "tools/decode/formats/utterance_formatters.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/cli/decimal.h"
#include "tools/decode/formats/json_text.h"
#include "tools/decode/formats/lines.h"

namespace runnel {
UtteranceText::UtteranceText(std::string id, int nbest) : id_(std::move(id)), nbest_(nbest) {}

std::string UtteranceText::Add(const Utterance& utterance) {
  if (utterance.nbest.at(0).text.empty()) return "";
  return TextLines(UtteranceId(id_, utterance.index), utterance.nbest, nbest_);
}

JoinedText::JoinedText(std::string id) : id_(std::move(id)) {}

std::string JoinedText::Add(const Utterance& utterance) {
  const std::string text = joiner_.Add(utterance.nbest.at(0));
  if (text.empty()) return "";
  return std::exchange(has_begun_, true) ? text : id_ + " " + text;
}

std::string JoinedText::Finish(double /*audio_seconds*/) { return has_begun_ ? "\n" : id_ + "\n"; }

std::string JoinedText::Fail(const std::string& /*message*/) { return has_begun_ ? "\n" : ""; }

UtteranceJson::UtteranceJson(std::string id, const TokenTable& tokens)
    : id_(std::move(id)), tokens_(tokens) {}

std::string UtteranceJson::Add(const Utterance& utterance) {
  const Hypothesis& best = utterance.nbest.at(0);
  if (best.text.empty()) return "";
  const nlohmann::ordered_json segment = {{"start_ms", Rounded(utterance.start_ms)},
                                          {"end_ms", Rounded(utterance.end_ms)},
                                          {"text", best.text},
                                          {"begins_word", best.begins_word},
                                          {"ends_word", best.ends_word},
                                          {"confidence", Rounded(best.confidence)},
                                          {"end", NameOf(utterance.end)},
                                          {"nbest", NBestJson(utterance.nbest, tokens_)}};
  return (std::exchange(has_begun_, true) ? "," : Beginning()) + JsonText(segment);
}

std::string UtteranceJson::Finish(double audio_seconds) {
  return (has_begun_ ? "" : Beginning()) +
         "],\"audio_seconds\":" + JsonText(Rounded(audio_seconds)) + "}\n";
}

std::string UtteranceJson::Fail(const std::string& message) {
  return has_begun_ ? "],\"error\":" + JsonText(message) + "}\n" : "";
}

std::string UtteranceJson::Beginning() const {
  return "{\"id\":" + JsonText(id_) + ",\"segments\":[";
}

}  // namespace runnel
