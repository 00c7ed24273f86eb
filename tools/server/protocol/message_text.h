// Writes JSON messages. They are valid UTF-8, whatever bytes a model's tokens or a client's message
// hold.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_MESSAGE_TEXT_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_MESSAGE_TEXT_H_

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

// `message` in one line. Bytes of its strings that are not UTF-8 become U+FFFD; a number that is
// not finite becomes null.
std::string MessageText(const OrderedJson& message);

// `text` with a space for every control character, line breaks included.
std::string OneLine(std::string text);

// `text` with U+FFFD for bytes that are not UTF-8, as in MessageText.
std::string ValidText(const std::string& text);

// The number of characters (Unicode code points) of UTF-8 text.
int64_t NumCharacters(std::string_view text);

// The Append functions write like MessageText, but directly into `json`. A tree of the tokens of
// hours would take a hundred times their memory.
void AppendString(std::string_view text, std::string* json);
// Rounds to four decimals.
void AppendNumber(double value, std::string* json);
// [{"text","start_ms","end_ms","confidence"}]; "text" is the token as in units.txt.
void AppendTokens(const std::vector<Token>& tokens, const TokenTable& table, std::string* json);

// Reopens the JSON text of an object, which is not empty, for one more field. The caller then
// appends the field's value and "}".
void BeginField(std::string_view name, std::string* object);

// [{"text","score","tokens","words"}], at most `max_results`; "tokens" only when `wants_tokens`.
void AppendResults(const std::vector<Hypothesis>& nbest, size_t max_results, bool wants_tokens,
                   const TokenTable& table, std::string* json);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_MESSAGE_TEXT_H_
