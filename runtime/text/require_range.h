// The check that a number lies in its range, with one wording of the error.
#ifndef RUNNEL_RUNTIME_TEXT_REQUIRE_RANGE_H_
#define RUNNEL_RUNTIME_TEXT_REQUIRE_RANGE_H_

#include <cstdio>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace runnel {

// A number as messages write it: every digit of an integer, at most 15 of a real number.
template <typename Number>
std::string NumberText(Number value) {
  if constexpr (std::is_integral_v<Number>) {
    return std::to_string(value);
  } else {
    char text[32];
    std::snprintf(text, sizeof text, "%.15g", static_cast<double>(value));
    return text;
  }
}

// "1 to 64 threads". Without a unit "1 to 64".
template <typename Number>
std::string RangeText(Number least, Number most, const std::string& unit = "") {
  return NumberText(least) + " to " + NumberText(most) + (unit.empty() ? "" : " " + unit);
}

// Throws std::invalid_argument "NAME is VALUE, expected LEAST to MOST UNIT" unless `value` lies in
// [least, most]. A NaN lies in no range.
template <typename Number>
void RequireInRange(const std::string& name, Number value, std::common_type_t<Number> least,
                    std::common_type_t<Number> most, const std::string& unit = "") {
  if (value >= least && value <= most) return;
  throw std::invalid_argument(name + " is " + NumberText(value) + ", expected " +
                              RangeText(least, most, unit));
}

// The same for a number without an upper limit: "NAME is VALUE, expected at least LEAST UNIT".
template <typename Number>
void RequireAtLeast(const std::string& name, Number value, std::common_type_t<Number> least,
                    const std::string& unit = "") {
  if (value >= least) return;
  throw std::invalid_argument(name + " is " + NumberText(value) + ", expected at least " +
                              NumberText(least) + (unit.empty() ? "" : " " + unit));
}

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_REQUIRE_RANGE_H_
