#include "runtime/hotwords.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <unordered_map>

#include "platform/number_text.h"
#include "runtime/hotwords/hotword_automaton.h"
#include "runtime/hotwords/hotword_spelling.h"
#include "runtime/text/list_file.h"
#include "runtime/text/printable.h"
#include "runtime/text/vocabulary.h"
#include "runtime/token_table.h"

namespace runnel {
namespace {

constexpr ListFormat kFormat = {Hotwords::kMaxTextSize, "phrases", "'PHRASE' or 'PHRASE :SCORE'"};

std::string ScoreRange() {
  return "a score of " + ShortestText(-Hotwords::kMaxScore) + " to " +
         ShortestText(Hotwords::kMaxScore);
}

bool IsScore(float score) { return std::abs(score) <= Hotwords::kMaxScore; }  // a NaN is none

// `field` begins with ':'. Throws std::runtime_error.
float ParseScore(std::string_view field) {
  const std::optional<float> score = ReadFloat(field.substr(1));
  if (score.has_value() && IsScore(*score)) return *score;
  throw std::runtime_error("expected " + ScoreRange() + " after ':', got " + Quoted(field));
}

// The words of a phrase, joined by single spaces. Throws std::runtime_error.
std::string ParsePhrase(const ListFields& words) {
  std::string listed;
  for (const std::string_view word : words) listed.append(listed.empty() ? "" : " ").append(word);
  std::string phrase = SpacedText(listed);
  if (phrase.empty()) {
    throw std::runtime_error(Quoted(listed) +
                             " consists of word boundaries only; expected a phrase");
  }
  if (phrase.size() > Hotwords::kMaxPhraseSize) {
    throw std::runtime_error("a phrase of " + std::to_string(phrase.size()) +
                             " bytes; expected at most " +
                             std::to_string(Hotwords::kMaxPhraseSize));
  }
  return phrase;
}

// A line that reads back as this phrase. The space before it keeps a first '#' from making a
// comment, and a first byte order mark from being removed.
std::string Line(const std::string& phrase, float score) {
  const bool is_plain = phrase.front() != '#' && phrase.front() != '\xEF';
  return (is_plain ? "" : " ") + phrase + " :" + ShortestText(score) + "\n";
}

}  // namespace

Hotwords::Hotwords(const std::string& text, const TokenTable& tokens, float default_score,
                   const std::string& source)
    : vocab_size_(tokens.size()), blank_id_(tokens.blank_id()) {
  if (!IsScore(default_score)) {
    throw std::invalid_argument("default score of hotwords: " + ShortestText(default_score) +
                                "; expected " + ScoreRange());
  }
  const HotwordSpelling spelling(tokens);
  std::vector<HotwordAutomaton::Phrase> normalized;
  std::unordered_map<std::string, size_t> indices;  // in `normalized`, by text
  ReadList(text, kFormat, source, [&](ListFields fields) {
    float score = default_score;
    if (fields.size() > 1 && fields.back().front() == ':') {
      score = ParseScore(fields.back());
      fields.pop_back();
    }
    const std::string phrase = ParsePhrase(fields);
    const std::string key = spelling.Normalize(phrase);
    const auto [found, is_new] = indices.emplace(key, normalized.size());
    if (is_new) {
      phrases_.push_back(phrase);
      normalized.push_back({key, score});
    } else {
      float& best = normalized[found->second].score;
      best = std::max(best, score);
    }
  });
  for (size_t i = 0; i < phrases_.size(); ++i) {
    text_ += Line(phrases_[i], normalized[i].score);
    if (text_.size() > kMaxTextSize) throw std::runtime_error(ListTooLarge(source, kFormat));
  }
  automaton_ = std::make_unique<const HotwordAutomaton>(spelling.token_texts(),
                                                        spelling.has_boundaries(), normalized);
}

Hotwords::~Hotwords() = default;

std::shared_ptr<const Hotwords> Hotwords::Read(const std::string& path, const TokenTable& tokens,
                                               float default_score) {
  return std::make_shared<const Hotwords>(ReadListFile(path, kFormat), tokens, default_score, path);
}

}  // namespace runnel
