// Writes JSON in one line. It is valid UTF-8, whatever bytes a model's tokens, a file name or a
// client's message hold.
#ifndef RUNNEL_TOOLS_JSON_JSON_TEXT_H_
#define RUNNEL_TOOLS_JSON_JSON_TEXT_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace runnel {

using OrderedJson = nlohmann::ordered_json;

// `value` without a newline. Bytes of its strings that are not UTF-8 become U+FFFD; a number that
// is not finite becomes null.
std::string JsonText(const OrderedJson& value);

// The Append functions write like JsonText, but directly into `json`.
void AppendString(std::string_view text, std::string* json);
// Rounds to four decimals, half away from zero. So runs that agree to within rounding print the
// same.
void AppendNumber(double value, std::string* json);

// Reopens the JSON text of an object, which is not empty, for one more field. The caller then
// appends the field's value and "}".
void BeginField(std::string_view name, std::string* object);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_JSON_JSON_TEXT_H_
