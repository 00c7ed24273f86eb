#include "tools/decode/formats/recording_formatters.h"

#include <cmath>
#include <utility>

#include "tools/cli/decimal.h"
#include "tools/decode/formats/lines.h"
#include "tools/json/hypothesis_json.h"
#include "tools/json/json_text.h"

namespace runnel {

RecordingText::RecordingText(std::string id, int nbest) : id_(std::move(id)), nbest_(nbest) {}

std::string RecordingText::Add(const Utterance& utterance) {
  return TextLines(id_, utterance.nbest, nbest_);
}

RecordingJson::RecordingJson(std::string id, const TokenTable& tokens)
    : id_(std::move(id)), tokens_(tokens) {}

std::string RecordingJson::Add(const Utterance& utterance) {
  nbest_ = utterance.nbest;
  return "";
}

std::string RecordingJson::Finish(double audio_seconds) {
  std::string line = JsonText(
      {{"id", id_}, {"text", nbest_.at(0).text}, {"audio_seconds", Rounded(audio_seconds)}});
  AddLanguage(nbest_.at(0), &line);
  BeginField("nbest", &line);
  AppendHypotheses(nbest_, nbest_.size(), true, tokens_, &line);
  return line + "}\n";
}

Ctm::Ctm(std::string id) : id_(std::move(id)) {}

std::string Ctm::Add(const Utterance& utterance) {
  std::string lines;
  for (const Word& word : utterance.nbest.at(0).words) {
    const double start_ms = std::round(word.start_ms);
    const double duration_ms = std::round(word.end_ms) - start_ms;  // their sum is the end
    lines += id_ + " 1 " + Decimal(start_ms / 1000, 3) + " " + Decimal(duration_ms / 1000, 3) +
             " " + word.text + " " + Decimal(static_cast<double>(word.confidence), 3) + "\n";
  }
  return lines;
}

}  // namespace runnel
