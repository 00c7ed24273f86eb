#include "tools/verification/comparison.h"

#include <ATen/TensorOperators.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <stdexcept>

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

void Difference::Add(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.sizes() != expected.sizes()) {
    std::ostringstream message;
    message << "results of different shape: " << actual.sizes() << " and " << expected.sizes();
    throw std::runtime_error(message.str());
  }
  if (expected.numel() == 0) return;
  const double difference = (actual - expected).abs().max().item<double>();
  const double scale = std::max(1.0, expected.abs().max().item<double>());
  if (IsWorse(difference, absolute)) absolute = difference;
  if (IsWorse(difference / scale, relative)) relative = difference / scale;
}

Difference Check::Compare(const std::string& setting, const at::Tensor& actual,
                          const at::Tensor& expected) {
  Difference difference;
  difference.Add(actual, expected);
  if (IsWorse(difference.relative, worst_.relative)) worst_setting_ = setting;
  if (IsWorse(difference.relative, worst_.relative)) worst_.relative = difference.relative;
  if (IsWorse(difference.absolute, worst_.absolute)) worst_.absolute = difference.absolute;
  return difference;
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
