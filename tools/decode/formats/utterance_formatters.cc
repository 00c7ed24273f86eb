#include "tools/decode/formats/utterance_formatters.h"

#include <utility>

#include "tools/cli/decimal.h"
#include "tools/decode/formats/lines.h"
#include "tools/json/hypothesis_json.h"
#include "tools/json/json_text.h"

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
  std::string segment = JsonText({{"start_ms", Rounded(utterance.start_ms)},
                                  {"end_ms", Rounded(utterance.end_ms)},
                                  {"text", best.text},
                                  {"begins_word", best.begins_word},
                                  {"ends_word", best.ends_word},
                                  {"confidence", Rounded(best.confidence)},
                                  {"end", NameOf(utterance.end)}});
  AddLanguage(best, &segment);
  BeginField("nbest", &segment);
  AppendHypotheses(utterance.nbest, utterance.nbest.size(), true, tokens_, &segment);
  return (std::exchange(has_begun_, true) ? "," : Beginning()) + segment + "}";
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
