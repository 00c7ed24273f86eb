// JSON that is sent: always valid UTF-8, whatever a model's tokens or a client's message hold.
// Flow: socket -> Protocol -> LiveStream -> Protocol (this) -> socket.
#ifndef RUNNEL_TOOLS_SERVER_MESSAGE_TEXT_H_
#define RUNNEL_TOOLS_SERVER_MESSAGE_TEXT_H_

#include <cstddef>
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

// What grows with a stream is appended to `json` piece by piece: a tree of the tokens of hours
// would take a hundred times their memory. Written as MessageText writes it.
void AppendString(std::string_view text, std::string* json);
// With four decimals at most.
void AppendNumber(double value, std::string* json);
// [{"text","start_ms","end_ms","confidence"}], `text` as in the model's table of units.
void AppendTokens(const std::vector<Token>& tokens, const TokenTable& table, std::string* json);

// Opens the JSON text of an object that is not empty for one field more: what is appended next is
// its value, and then "}".
void BeginField(std::string_view name, std::string* object);

// Appends to the JSON text of an object what became of a whole recording:
// "text","audio_ms","nbest":[{"text","score","tokens","words"}], `max_results` of them at most, no
// "tokens" unless wanted. Final messages and the body of an HTTP reply.
void AddResult(const std::vector<Hypothesis>& nbest, size_t max_results, double audio_ms,
               bool wants_tokens, const TokenTable& table, std::string* object);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_MESSAGE_TEXT_H_
