#include "frontend/features/window_function.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace runnel {
namespace {

// Values of a window at `phase`, from 0 (first sample) to 2 pi (last).
double Hanning(double phase, double /*blackman_coeff*/) { return 0.5 - 0.5 * std::cos(phase); }
double Povey(double phase, double blackman_coeff) {
  return std::pow(Hanning(phase, blackman_coeff), 0.85);
}
double Hamming(double phase, double /*blackman_coeff*/) { return 0.54 - 0.46 * std::cos(phase); }
double Rectangular(double /*phase*/, double /*blackman_coeff*/) { return 1.0; }
double Blackman(double phase, double blackman_coeff) {
  return blackman_coeff - 0.5 * std::cos(phase) + (0.5 - blackman_coeff) * std::cos(2.0 * phase);
}

struct WindowType {
  const char* name;
  double (*value)(double phase, double blackman_coeff);
};

constexpr std::array<WindowType, 5> kWindowTypes = {{{"povey", Povey},
                                                     {"hanning", Hanning},
                                                     {"hamming", Hamming},
                                                     {"rectangular", Rectangular},
                                                     {"blackman", Blackman}}};

const WindowType* Find(const std::string& name) {
  const auto* const found = std::find_if(kWindowTypes.begin(), kWindowTypes.end(),
                                         [&](const WindowType& type) { return name == type.name; });
  return found == kWindowTypes.end() ? nullptr : found;
}

}  // namespace

std::string WindowTypes() {
  std::string names;
  for (const WindowType& type : kWindowTypes) {
    if (!names.empty()) names += ", ";
    names += type.name;
  }
  return names;
}

bool IsWindowType(const std::string& name) { return Find(name) != nullptr; }

std::vector<float> MakeWindow(const std::string& type_name, size_t length, bool periodic,
                              double blackman_coeff) {
  const WindowType* const type = Find(type_name);
  if (type == nullptr) throw std::logic_error("MakeWindow: options were not validated");
  const double two_pi = 2.0 * std::acos(-1.0);
  const double step = two_pi / static_cast<double>(periodic ? length : length - 1);
  std::vector<float> window(length);
  for (size_t i = 0; i < length; ++i) {
    window[i] = static_cast<float>(type->value(step * static_cast<double>(i), blackman_coeff));
  }
  return window;
}

}  // namespace runnel
