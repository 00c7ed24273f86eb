#include "tools/server/protocol/phrase_hotwords.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/hotwords/hotword_spelling.h"
#include "runtime/text/utf8.h"
#include "runtime/text/vocabulary.h"
#include "tools/cli/decimal.h"
#include "tools/server/protocol/message_text.h"

namespace runnel::server {
namespace {

// The words of valid UTF-8, joined by single spaces.
std::string Spaced(const std::string& text) { return SpacedText(OneLine(text)); }

bool CanSpell(const HotwordSpelling& spelling, const std::string& phrase) {
  if (phrase.empty()) return false;
  try {
    return !spelling.Normalize(phrase).empty();
  } catch (const std::runtime_error&) {
    return false;
  }
}

}  // namespace

std::shared_ptr<const Hotwords> PhraseHotwords(const std::vector<WeightedPhrase>& phrases,
                                               const TokenTable& tokens) {
  if (phrases.empty()) return nullptr;
  const HotwordSpelling spelling(tokens);
  std::string list;
  size_t num_bytes = 0;
  for (const WeightedPhrase& phrase : phrases) {
    if (phrase.text.size() > Hotwords::kMaxPhraseSize) continue;
    num_bytes += phrase.text.size() + 1;
    if (num_bytes > kMaxPhraseListBytes) break;
    const std::string spaced = Spaced(ValidText(phrase.text));
    if (!CanSpell(spelling, spaced)) continue;
    const double score = std::min(phrase.weight * static_cast<double>(Hotwords::kDefaultScore),
                                  static_cast<double>(Hotwords::kMaxScore));
    // The space keeps a first # from making a comment.
    list += " " + spaced + " :" + Decimal(score, 6) + "\n";
  }
  if (list.empty()) return nullptr;
  return std::make_shared<const Hotwords>(list, tokens, Hotwords::kDefaultScore, "phrases");
}

}  // namespace runnel::server
