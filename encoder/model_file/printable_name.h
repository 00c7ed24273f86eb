// Names out of a file for messages.
#ifndef RUNNEL_ENCODER_MODEL_FILE_PRINTABLE_NAME_H_
#define RUNNEL_ENCODER_MODEL_FILE_PRINTABLE_NAME_H_

#include <algorithm>
#include <string>
#include <string_view>

namespace runnel {

// The name with every byte that is not printable ASCII replaced by '?', and cut if it is long.
inline std::string PrintableName(std::string_view name) {
  constexpr size_t kMostCharacters = 200;
  std::string printable(name.substr(0, kMostCharacters));
  std::replace_if(
      printable.begin(), printable.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return name.size() > kMostCharacters ? printable + "..." : printable;
}

}  // namespace runnel

#endif  // RUNNEL_ENCODER_MODEL_FILE_PRINTABLE_NAME_H_
