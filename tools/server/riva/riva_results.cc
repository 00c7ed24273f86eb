#include "tools/server/riva/riva_results.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "tools/server/protocol/message_text.h"

namespace runnel::server {
namespace {

using nvidia::riva::asr::SpeechRecognitionAlternative;
using nvidia::riva::asr::WordInfo;

constexpr int kOnlyChannel = 1;  // channels are counted from 1
// Of interim results; 1 would mean the end of an utterance, and 0 that there is no stability.
constexpr float kStable = 0.9F;
constexpr float kTentative = 0.1F;

float SecondsOf(double ms) { return static_cast<float>(ms / 1000); }

// A stream of more than 24 days stays at the largest time.
int32_t Milliseconds(double ms) {
  constexpr double kMost = std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(std::lround(std::min(ms, kMost)));
}

void AddWord(const Word& word, SpeechRecognitionAlternative* alternative) {
  WordInfo* info = alternative->add_words();
  info->set_word(ValidText(word.text));
  info->set_start_time(Milliseconds(word.start_ms));
  info->set_end_time(Milliseconds(word.end_ms));
  info->set_confidence(word.confidence);
}

template <typename Result>
void AddAlternatives(const Utterance& utterance, const RivaParts& parts, Result* result) {
  const size_t count = std::min(utterance.nbest.size(), parts.max_alternatives);
  for (size_t i = 0; i < count; ++i) {
    const Hypothesis& hypothesis = utterance.nbest[i];
    SpeechRecognitionAlternative* alternative = result->add_alternatives();
    alternative->set_transcript(ValidText(hypothesis.text) + (parts.spaces ? " " : ""));
    alternative->set_confidence(hypothesis.confidence);
    if (!hypothesis.language.empty()) alternative->add_language_code(hypothesis.language);
    if (!parts.words) continue;
    for (const Word& word : hypothesis.words) AddWord(word, alternative);
  }
  result->set_channel_tag(kOnlyChannel);
  result->set_audio_processed(SecondsOf(utterance.searched_ms));
}

}  // namespace

bool HasText(const Utterance& utterance) {
  return !utterance.nbest.empty() && !utterance.nbest.front().text.empty();
}

void FillFinal(const Utterance& utterance, const RivaParts& parts,
               nvidia::riva::asr::StreamingRecognitionResult* result) {
  AddAlternatives(utterance, parts, result);
  result->set_is_final(true);
}

void AddInterim(const LiveUpdate& update, nvidia::riva::asr::StreamingRecognizeResponse* response) {
  const auto add = [&](const std::string& text, float stability) {
    if (text.empty()) return;
    auto* result = response->add_results();
    result->add_alternatives()->set_transcript(ValidText(text));
    result->set_stability(stability);
    result->set_channel_tag(kOnlyChannel);
    result->set_audio_processed(SecondsOf(update.audio_ms));
  };
  add(update.stable_text, kStable);
  add(update.tentative_text, kTentative);
}

void FillRecording(const std::vector<Utterance>& utterances, const RivaParts& parts,
                   nvidia::riva::asr::RecognizeResponse* response) {
  for (const Utterance& utterance : utterances) {
    if (HasText(utterance)) AddAlternatives(utterance, parts, response->add_results());
  }
}

}  // namespace runnel::server
