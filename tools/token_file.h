// A secret in a file, so that it stands in no command line, which others see.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_TOKEN_FILE_H_
#define RUNNEL_TOOLS_TOKEN_FILE_H_

#include <string>

namespace runnel {

// The first line of a file, without blanks around it. Throws std::runtime_error when there is none.
std::string ReadToken(const std::string& path);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_TOKEN_FILE_H_
