// What clients of OpenAI's interfaces ask of a stream, in live sessions and with recordings.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_OPENAI_OPTIONS_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_OPENAI_OPTIONS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/hotwords.h"
#include "runtime/options/stream_options.h"
#include "runtime/token_table.h"

namespace runnel::server {

// OpenAI's default of silence_duration_ms.
constexpr double kDefaultSilenceMs = 500;

// `silence_ms` in the range of EndpointOptions.
double AllowedSilenceMs(double silence_ms);

// Chooses that an utterance with speech ends after `silence_ms`, which is in that range.
void EndAfter(double silence_ms, ChosenOptions* options);

// The parts of a prompt that are short enough to be names or terms: up to five words between
// commas, semicolons, line breaks and the ends of sentences.
std::vector<std::string> PromptPhrases(std::string_view prompt);

// PhraseHotwords of a client's keywords and, after them, the PromptPhrases of its prompt.
std::shared_ptr<const Hotwords> KeywordHotwords(const std::vector<std::string_view>& keywords,
                                                std::string_view prompt, const TokenTable& tokens);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_OPENAI_OPTIONS_H_
