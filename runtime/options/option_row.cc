#include "runtime/options/option_row.h"

#include "runtime/options/option_error.h"
#include "runtime/text/printable.h"
#include "runtime/text/require_range.h"

namespace runnel {
namespace {

std::string Text(const OptionValue& value) {
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  if (const int64_t* integer = std::get_if<int64_t>(&value)) return NumberText(*integer);
  if (const double* real = std::get_if<double>(&value)) return NumberText(*real);
  return Quoted(std::get<std::string>(value));
}

}  // namespace

std::string Listed(const std::vector<std::string>& names) {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) list += i + 1 == names.size() ? " or " : ", ";
    list += names[i];
  }
  return list;
}

bool OptionInfo::IsOf(OptionUser user) const {
  return std::find(users.begin(), users.end(), user) != users.end();
}

const SpecialNumber* OptionInfo::SpecialOf(int64_t value) const {
  const auto found = std::find_if(special.begin(), special.end(),
                                  [value](const auto& number) { return number.value == value; });
  return found == special.end() ? nullptr : &*found;
}

bool OptionInfo::IsInRange(const OptionValue& value) const {
  if (const int64_t* integer = std::get_if<int64_t>(&value)) {
    const auto number = static_cast<double>(*integer);
    return (number >= least && number <= most) || SpecialOf(*integer) != nullptr;
  }
  const double* real = std::get_if<double>(&value);
  return real == nullptr || (*real >= least && *real <= most);  // not a NaN
}

std::string OptionInfo::ExpectedNumber() const {
  std::vector<std::string> parts = {RangeText(least, most, unit)};
  for (const SpecialNumber& number : special) {
    parts.push_back(NumberText(number.value) + " (" + number.meaning + ")");
  }
  return Listed(parts);
}

void FailAsOutOfRange(const std::string& name, const OptionValue& value,
                      const std::string& expected) {
  throw OptionError(OptionName(name) + " is " + Text(value) + ", expected " + expected);
}

}  // namespace runnel
