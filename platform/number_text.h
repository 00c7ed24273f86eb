// Real numbers as text, also where the standard library has no std::from_chars and std::to_chars
// for them (libc++ of macOS, Android and emscripten).
#ifndef RUNNEL_PLATFORM_NUMBER_TEXT_H_
#define RUNNEL_PLATFORM_NUMBER_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

namespace runnel {

// The number that the whole text is, as std::from_chars reads it in every locale: "1.5", "-3e4",
// "inf", "nan". No value for another text, and for a number that is out of range.
std::optional<float> ReadFloat(std::string_view text);
std::optional<double> ReadDouble(std::string_view text);

// The shortest decimal number that reads back as the same float.
std::string ShortestText(float number);

}  // namespace runnel

#endif  // RUNNEL_PLATFORM_NUMBER_TEXT_H_
