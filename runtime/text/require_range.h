// The check that a real number lies in its range, with one wording of the error.
#ifndef RUNNEL_RUNTIME_TEXT_REQUIRE_RANGE_H_
#define RUNNEL_RUNTIME_TEXT_REQUIRE_RANGE_H_

#include <sstream>
#include <stdexcept>
#include <string>

namespace runnel {

// Throws std::invalid_argument unless `value`, that of the option `name`, lies in [min, max]. A NaN
// lies in no range.
inline void RequireInRange(const std::string& name, double value, double min, double max) {
  if (value >= min && value <= max) return;
  std::ostringstream message;
  message << name << " is " << value << ", expected " << min << " to " << max;
  throw std::invalid_argument(message.str());
}

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_REQUIRE_RANGE_H_
