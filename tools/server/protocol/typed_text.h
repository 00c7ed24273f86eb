// Numbers, true and false in the text of clients: in a query, in a form, or in a string of JSON.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_TYPED_TEXT_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_TYPED_TEXT_H_

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace runnel::server {

// The decimal number that is all of `text`: no space, no "+", no hexadecimal digits, no infinity
// and no NaN. Empty for any other text, and for a number beyond Number.
template <typename Number>
std::optional<Number> NumberIn(std::string_view text) {
  Number number = 0;
  const char* const end = text.data() + text.size();
  const auto [parsed_end, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || parsed_end != end) return std::nullopt;
  if constexpr (std::is_floating_point_v<Number>) {
    if (!std::isfinite(number)) return std::nullopt;
  }
  return number;
}

// true or false, also as Python's str() writes them: "True", "False". Empty for any other text.
inline std::optional<bool> FlagIn(std::string_view text) {
  if (text == "true" || text == "True") return true;
  if (text == "false" || text == "False") return false;
  return std::nullopt;
}

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_TYPED_TEXT_H_
