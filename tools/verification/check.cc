#include "tools/verification/check.h"

#include <cstdio>

namespace runnel {
namespace {

// NaN counts as the worst and stays it: once `worst` is NaN, no candidate is worse.
bool IsWorse(double candidate, double worst) { return worst == worst && !(candidate <= worst); }

std::string Row(const std::string& name, const std::string& absolute, const std::string& relative,
                const std::string& tolerance, const std::string& setting,
                const std::string& verdict) {
  char row[256];
  std::snprintf(row, sizeof(row), "  %-46s %9s %9s %9s  %-14s %s\n", name.c_str(), absolute.c_str(),
                relative.c_str(), tolerance.c_str(), setting.c_str(), verdict.c_str());
  return row;
}

}  // namespace

std::string FormatError(double error) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1e", error);
  return text;
}

void Difference::Add(const Difference& other) {
  if (IsWorse(other.absolute, absolute)) absolute = other.absolute;
  if (IsWorse(other.relative, relative)) relative = other.relative;
}

void Check::Record(const std::string& setting, const Difference& difference) {
  // Settings are computed in any order: of equal errors, the first by name counts.
  const bool is_equal = difference.relative == worst_.relative && difference.relative > 0;
  if (IsWorse(difference.relative, worst_.relative) || (is_equal && setting < worst_setting_)) {
    worst_setting_ = setting;
  }
  worst_.Add(difference);
}

std::string Check::TableHead() {
  return Row("", "absolute", "relative", "tolerance", "largest at", "");
}

std::string Check::TableRow() const {
  return Row(name_, FormatError(worst_.absolute), FormatError(worst_.relative),
             FormatError(tolerance_), worst_setting_, passed() ? "ok" : "FAILED");
}

std::string Check::Failure() const {
  return "check '" + name_ + "' failed at " + worst_setting_ + ": relative error " +
         FormatError(worst_.relative) + ", tolerance " + FormatError(tolerance_);
}

}  // namespace runnel
