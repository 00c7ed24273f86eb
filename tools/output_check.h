// Whether a tool can write its results where it was told to, before it computes them: not over what
// it reads, not where nothing can be written.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_OUTPUT_CHECK_H_
#define RUNNEL_TOOLS_OUTPUT_CHECK_H_

#include <string>
#include <vector>

namespace runnel {

// Throws std::invalid_argument when `output`, the value of the flag `flag`, is the same regular
// file as one of `inputs`, by whatever name. Names of files that are not there, "" and "-" are
// fine.
void CheckOutputIsNoInput(const std::string& output, const std::vector<std::string>& inputs,
                          const std::string& flag = "output");

// Throws std::runtime_error, naming the file and the reason, when nothing can be written to
// `output`, as far as that can be told without creating it. "" and "-" (standard output) are fine.
void CheckOutputCanBeWritten(const std::string& output);

// The same for a file whose beginning is written last: also refuses what cannot be searched, such
// as pipes, terminals and "-".
void CheckOutputCanBeRewritten(const std::string& output);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_OUTPUT_CHECK_H_
