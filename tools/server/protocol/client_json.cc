#include "tools/server/protocol/client_json.h"

#include <utility>

#include "encoder/json/json_text.h"

namespace runnel::server {
namespace {

// Far more than a list of hotwords in a message of kMaxControlBytes has.
constexpr size_t kMaxValues = 16384;

// Where the string ends that begins at `begin`, behind its quotation mark; the end of the text when
// it does not end.
size_t EndOfString(std::string_view text, size_t begin) {
  for (size_t end = begin;; ++end) {
    end = text.find('"', end);
    if (end == std::string_view::npos) return text.size();
    size_t num_backslashes = 0;
    while (end - num_backslashes > begin && text[end - num_backslashes - 1] == '\\') {
      ++num_backslashes;
    }
    if (num_backslashes % 2 == 0) return end;
  }
}

void CheckRest(size_t num_bytes) {
  if (num_bytes <= kMaxControlBytes) return;
  throw ClientMistake(
      ErrorCode::kMessageTooLarge,
      "a text message has more than " + std::to_string(kMaxControlBytes) + " bytes without audio");
}

// Walks over the tokens of JSON text to the first string that is the value of `name` in the
// outermost object. True when there is one: it begins at `begin` and ends at `end`.
bool FindString(std::string_view text, std::string_view name, size_t* begin, size_t* end) {
  int depth = 0;
  bool is_value = false;       // a colon came last, in the outermost object
  std::string_view last_name;  // before it
  for (size_t i = 0; i < text.size(); ++i) {
    CheckRest(i);
    const char c = text[i];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c == ':' || c == ',') is_value = c == ':' && depth == 1;
    if (c != '"') continue;
    *begin = i + 1;
    *end = EndOfString(text, *begin);
    if (is_value && last_name == name) return true;
    if (depth == 1 && !is_value) last_name = text.substr(*begin, *end - *begin);
    i = *end;
  }
  return false;
}

}  // namespace

ProtocolError ErrorOf(const std::runtime_error& error) {
  const auto* const mistake = dynamic_cast<const ClientMistake*>(&error);
  return {mistake == nullptr ? ErrorCode::kBadOption : mistake->code(), error.what()};
}

nlohmann::json ReadClientJson(std::string_view text, size_t max_bytes) {
  if (text.size() > max_bytes) {
    throw ClientMistake(ErrorCode::kMessageTooLarge,
                        "a text message has " + std::to_string(text.size()) +
                            " bytes, expected at most " + std::to_string(max_bytes));
  }
  nlohmann::json value;
  try {
    value = ParseJsonText(text, "message", "text", kMaxValues);
  } catch (const std::runtime_error& error) {
    throw ClientMistake(ErrorCode::kBadJson, error.what());
  }
  if (!value.is_object()) {
    throw ClientMistake(ErrorCode::kBadJson,
                        "message: JSON " + std::string(value.type_name()) + ", expected an object");
  }
  return value;
}

nlohmann::json ReadClientJson(const ClientMessage& message) {
  return message.json == nullptr ? ReadClientJson(message.bytes) : std::move(*message.json);
}

bool MayHaveMember(std::string_view text, std::string_view name) {
  return text.find(name) != std::string_view::npos || text.find("\\u") != std::string_view::npos;
}

TextParts TakeStringOut(std::string_view text, std::string_view name) {
  size_t begin = 0;
  size_t end = 0;
  if (!FindString(text, name, &begin, &end)) begin = end = text.size();
  CheckRest(text.size() - (end - begin));
  TextParts parts;
  parts.string = text.substr(begin, end - begin);
  parts.string_begin = begin;
  parts.rest.append(text.substr(0, begin)).append(text.substr(end));
  return parts;
}

}  // namespace runnel::server
