// Checks the output files of a tool before it computes anything: an output must not overwrite an
// input, and it must be writable.
#ifndef RUNNEL_TOOLS_CLI_OUTPUT_CHECK_H_
#define RUNNEL_TOOLS_CLI_OUTPUT_CHECK_H_

#include <string>
#include <vector>

namespace runnel {

// Throws std::invalid_argument when `output`, the value of the flag `flag`, is the same regular
// file as one of `inputs`, by any name. "", "-" and files that do not exist are allowed.
void CheckOutputIsNoInput(const std::string& output, const std::vector<std::string>& inputs,
                          const std::string& flag = "output");

// Throws std::runtime_error, which names the file and the reason, when `output` is not writable, as
// far as that is known without creating it. "" and "-" (standard output) are allowed.
void CheckOutputCanBeWritten(const std::string& output);

// The same for a file that is replaced as a whole. Also refuses "-" and everything that is no
// regular file.
void CheckOutputCanBeReplaced(const std::string& output);

// The same as CheckOutputCanBeWritten for a file whose beginning is written last. Also refuses
// outputs that are not seekable, such as pipes, terminals and "-".
void CheckOutputCanBeRewritten(const std::string& output);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_OUTPUT_CHECK_H_
