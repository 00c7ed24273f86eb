// Reads a secret from a file, because other users can see a command line.
#ifndef RUNNEL_TOOLS_CLI_TOKEN_FILE_H_
#define RUNNEL_TOOLS_CLI_TOKEN_FILE_H_

#include <string>

namespace runnel {

// The first line of a file, without surrounding blanks. Throws std::runtime_error if it is empty or
// the file cannot be read.
std::string ReadToken(const std::string& path);

// Whether users beside the owner and the group may read the file.
bool OthersMayRead(const std::string& path);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_TOKEN_FILE_H_
