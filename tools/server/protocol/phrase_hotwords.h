// Hotwords of clients that list phrases for other servers.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_PHRASE_HOTWORDS_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_PHRASE_HOTWORDS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/token_table.h"

namespace runnel::server {

struct WeightedPhrase {
  std::string text;
  // Multiplies Hotwords::kDefaultScore, which is per character; Hotwords::kMaxScore is the most.
  double weight = 1;
};

// Most bytes of the phrases of one stream, a byte for the end of each included.
constexpr size_t kMaxPhraseListBytes = 64 << 10;

// Passes over phrases that the tokens cannot spell: such clients do not know the vocabulary. They
// count towards kMaxPhraseListBytes too, after which the rest is passed over: the time is bounded
// whatever a client sends. A phrase of more than Hotwords::kMaxPhraseSize bytes costs nothing and
// does not count. Null when no phrase is left. Does not throw.
std::shared_ptr<const Hotwords> PhraseHotwords(const std::vector<WeightedPhrase>& phrases,
                                               const TokenTable& tokens);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_PHRASE_HOTWORDS_H_
