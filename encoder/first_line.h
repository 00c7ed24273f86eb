// Messages of LibTorch as the one line that an error of Runnel is. Internal to Runnel: its encoder,
// and the tools, where an exception of LibTorch may arrive.
#ifndef RUNNEL_ENCODER_FIRST_LINE_H_
#define RUNNEL_ENCODER_FIRST_LINE_H_

#include <string>

namespace runnel {

// LibTorch's messages carry a stack trace; their first line says what happened.
inline std::string FirstLine(const std::string& message) {
  return message.substr(0, message.find('\n'));
}

}  // namespace runnel

#endif  // RUNNEL_ENCODER_FIRST_LINE_H_
