// Formats and rounds decimal numbers.
#ifndef RUNNEL_TOOLS_CLI_DECIMAL_H_
#define RUNNEL_TOOLS_CLI_DECIMAL_H_

#include <cmath>
#include <cstdio>
#include <string>

namespace runnel {

// `value` with `decimals` digits after the point: Decimal(1.5, 3) is "1.500".
inline std::string Decimal(double value, int decimals) {
  char text[352];  // the largest double has 309 digits
  std::snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

// `value` rounded to four decimals, which JSON then writes with few digits.
inline double Rounded(double value) { return std::round(value * 1e4) / 1e4; }

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_DECIMAL_H_
