// The messages of Runnel's protocol that hold an utterance, and the reply to an uploaded recording.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_RESULT_MESSAGES_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_RESULT_MESSAGES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/result.h"
#include "runtime/token_table.h"

namespace runnel::server {

// Which parts of a result a client wants.
struct ResultParts {
  size_t max_results = 1;
  bool tokens = true;
};

// The best texts of all utterances, joined by TextJoiner.
std::string JoinedTexts(const std::vector<Utterance>& utterances);

// The languages that the model found in utterances, each once, in the order of their first ones.
std::vector<std::string> LanguagesOf(const std::vector<Utterance>& utterances);

// "utterance" and "final" messages. A final message is also the reply to a recording that is one
// utterance.
std::string UtteranceMessage(const char* type, const Utterance& utterance, const ResultParts& parts,
                             const TokenTable& table);

// The reply to a recording with endpointing: the joined text, and the utterances that have text as
// "segments". `utterances` are all of the recording.
std::string SegmentsReply(const std::vector<Utterance>& utterances, const ResultParts& parts,
                          const TokenTable& table);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_RESULT_MESSAGES_H_
