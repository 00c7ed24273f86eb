// JSON that is sent: always valid UTF-8, whatever a model's tokens or a client's message hold.
// Flow: socket -> Protocol -> LiveStream -> Protocol (this) -> socket.
#ifndef RUNNEL_TOOLS_SERVER_MESSAGE_TEXT_H_
#define RUNNEL_TOOLS_SERVER_MESSAGE_TEXT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/result.h"
#include "runtime/token_table.h"

namespace runnel::server {

using OrderedJson = nlohmann::ordered_json;

// `message` in one line. What is not UTF-8 in its strings becomes U+FFFD, a number that is not
// finite null.
std::string MessageText(const OrderedJson& message);

// `text` with a space for each line break and other control character.
std::string OneLine(std::string text);

// `text` as MessageText sends it: what is not UTF-8 replaced.
std::string ValidText(const std::string& text);

// Characters (Unicode code points) of UTF-8 text.
int64_t NumCharacters(std::string_view text);

// [{"text","start_ms","end_ms","confidence"}], `text` as in the model's table of units.
OrderedJson TokensJson(const std::vector<Token>& tokens, const TokenTable& table);

// What became of a whole recording:
// {"text","audio_ms","nbest":[{"text","score","tokens","words"}]}, no "tokens" unless wanted. Final
// messages and the body of an HTTP reply.
OrderedJson ResultJson(const std::vector<Hypothesis>& nbest, double audio_ms, bool wants_tokens,
                       const TokenTable& table);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_MESSAGE_TEXT_H_
