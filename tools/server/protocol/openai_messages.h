// What replies and events of OpenAI's interfaces share.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_OPENAI_MESSAGES_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_OPENAI_MESSAGES_H_

#include <vector>

#include "runtime/result.h"
#include "tools/json/json_text.h"

namespace runnel::server {

// Adds "languages", [{"code"}], where the model has found some in the utterances.
void AddOpenAiLanguages(const std::vector<Utterance>& utterances, OrderedJson* message);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_OPENAI_MESSAGES_H_
