#include "tools/server/protocol/openai_options.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <sstream>
#include <utility>

#include "tools/server/protocol/phrase_hotwords.h"

namespace runnel::server {
namespace {

constexpr size_t kMaxPromptWords = 5;

size_t NumWords(const std::string& text) {
  std::istringstream words(text);
  size_t count = 0;
  for (std::string word; words >> word;) ++count;
  return count;
}

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// Whether a part of a prompt ends before the character at `i`.
bool EndsPart(std::string_view prompt, size_t i) {
  const char c = prompt[i];
  if (c == ',' || c == ';' || c == '\n' || c == '\r') return true;
  if (c != '.' && c != '!' && c != '?') return false;  // not within "U.S." or "3.5"
  return i + 1 == prompt.size() || IsSpace(prompt[i + 1]);
}

}  // namespace

double AllowedSilenceMs(double silence_ms) {
  return std::clamp(silence_ms, EndpointOptions::kMinSilenceS * 1000,
                    EndpointOptions::kMaxSeconds * 1000);
}

void EndAfter(double silence_ms, ChosenOptions* options) {
  options->Set("endpointing", true);
  options->Set("endpoint_silence_s", silence_ms / 1000);
}

std::vector<std::string> PromptPhrases(std::string_view prompt) {
  std::vector<std::string> phrases;
  std::string part;
  for (size_t i = 0; i <= prompt.size(); ++i) {
    if (i < prompt.size() && !EndsPart(prompt, i)) {
      part += prompt[i];
      continue;
    }
    const size_t num_words = NumWords(part);
    if (num_words > 0 && num_words <= kMaxPromptWords) phrases.push_back(part);
    part.clear();
  }
  return phrases;
}

std::shared_ptr<const Hotwords> KeywordHotwords(const std::vector<std::string_view>& keywords,
                                                std::string_view prompt, const TokenTable& tokens) {
  std::vector<WeightedPhrase> phrases;
  for (const std::string_view keyword : keywords) {
    // A form may have very long ones, which are not worth a copy.
    if (keyword.size() <= Hotwords::kMaxPhraseSize) phrases.push_back({std::string(keyword), 1});
  }
  for (std::string& phrase : PromptPhrases(prompt)) phrases.push_back({std::move(phrase), 1});
  return PhraseHotwords(phrases, tokens);
}

}  // namespace runnel::server
