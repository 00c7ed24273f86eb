// The checks of option values in the options' Validate.

#ifndef RUNNEL_FRONTEND_FEATURES_OPTION_CHECKS_H_
#define RUNNEL_FRONTEND_FEATURES_OPTION_CHECKS_H_

#include <sstream>
#include <stdexcept>
#include <string>

namespace runnel {

// A window of 2^20 samples is a minute at 16 kHz: anything longer is a mistaken unit.
constexpr int kMaxFrameSamples = 1 << 20;
// The range of rates that AudioReader reads.
constexpr float kMinFrequencyHz = 1e3F;
constexpr float kMaxFrequencyHz = 1e7F;
constexpr int kMaxMelBins = 4096;

// The checks of one struct of options.
class OptionChecks {
 public:
  explicit constexpr OptionChecks(const char* options) : options_(options) {}

  // Throws std::invalid_argument: "OPTIONS.field is value, expected ...".
  template <typename Value>
  [[noreturn]] void Fail(const char* field, const Value& value, const std::string& expected) const {
    std::ostringstream message;
    message << options_ << '.' << field << " is " << value << ", expected " << expected;
    throw std::invalid_argument(message.str());
  }

  // NaN is out of every range.
  template <typename Value>
  void Range(const char* field, Value value, Value low, Value high, const char* unit = "") const {
    if (value >= low && value <= high) return;
    std::ostringstream expected;
    expected << low << " to " << high << (*unit == '\0' ? "" : " ") << unit;
    Fail(field, value, expected.str());
  }

 private:
  const char* options_;
};

}  // namespace runnel

#endif  // RUNNEL_FRONTEND_FEATURES_OPTION_CHECKS_H_
