#include "platform/number_text.h"

#include <charconv>
#include <stdexcept>
#include <system_error>
#include <version>

#ifndef __cpp_lib_to_chars
#include <locale.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <limits>
#endif

namespace runnel {
namespace {

#ifdef __cpp_lib_to_chars

template <typename Number>
std::optional<Number> Read(std::string_view text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  const auto [parsed_end, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || parsed_end != end) return std::nullopt;
  return number;
}

#else

locale_t Classic() {
  static const locale_t locale = ::newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

void Parse(const char* text, char** end, float* number) {
  *number = ::strtof_l(text, end, Classic());
}
void Parse(const char* text, char** end, double* number) {
  *number = ::strtod_l(text, end, Classic());
}

// The C library also reads what std::from_chars does not: spaces and a plus before the number, and
// numbers to base 16.
template <typename Number>
std::optional<Number> Read(std::string_view text) {
  if (text.empty() || text.find_first_of(" \f\n\r\t\vxX") != text.npos || text.front() == '+') {
    return std::nullopt;
  }
  const std::string copy(text);
  Number number = 0;
  char* end = nullptr;
  errno = 0;
  Parse(copy.c_str(), &end, &number);
  if (end != copy.c_str() + copy.size()) return std::nullopt;
  // The C library may also report a subnormal number, which std::from_chars reads.
  const bool is_beyond = errno == ERANGE && (number == 0 || std::isinf(number));
  if (is_beyond) return std::nullopt;
  return number;
}

#endif

}  // namespace

std::optional<float> ReadFloat(std::string_view text) { return Read<float>(text); }
std::optional<double> ReadDouble(std::string_view text) { return Read<double>(text); }

std::string ShortestText(float number) {
  char text[64];
#ifdef __cpp_lib_to_chars
  const auto [end, error] = std::to_chars(text, text + sizeof(text), number);
  if (error != std::errc()) throw std::logic_error("a float has more than 64 digits");
  return {text, end};
#else
  const auto print = [&](const char* format, int num_decimals) {
    const locale_t before = ::uselocale(Classic());
    std::snprintf(text, sizeof(text), format, num_decimals, static_cast<double>(number));
    ::uselocale(before);
  };
  int num_decimals = 0;
  do {
    print("%.*e", num_decimals++);
  } while (num_decimals < std::numeric_limits<float>::max_digits10 && ReadFloat(text) != number);
  const std::string with_exponent = text;
  const size_t at = with_exponent.find('e');
  if (at == with_exponent.npos) return with_exponent;  // infinite, or not a number
  // As std::to_chars, without an exponent where that is no longer.
  const int exponent = std::stoi(with_exponent.substr(at + 1));
  print("%.*f", std::max(0, num_decimals - 1 - exponent));
  return std::min(std::string(text), with_exponent,
                  [](const std::string& a, const std::string& b) { return a.size() < b.size(); });
#endif
}

}  // namespace runnel
