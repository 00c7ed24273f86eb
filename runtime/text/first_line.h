// The first line of an error message: LibTorch's messages go on with a stack trace.
#ifndef RUNNEL_RUNTIME_TEXT_FIRST_LINE_H_
#define RUNNEL_RUNTIME_TEXT_FIRST_LINE_H_

#include <string>

namespace runnel {

inline std::string FirstLine(const std::string& message) {
  return message.substr(0, message.find('\n'));
}

}  // namespace runnel

#endif  // RUNNEL_RUNTIME_TEXT_FIRST_LINE_H_
