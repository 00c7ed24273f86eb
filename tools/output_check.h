// Keeps a tool from writing its results over what it reads.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_OUTPUT_CHECK_H_
#define RUNNEL_TOOLS_OUTPUT_CHECK_H_

#include <string>
#include <vector>

namespace runnel {

// Throws std::invalid_argument when `output` is the same regular file as one of `inputs`, by
// whatever name. Names of files that are not there, "" and "-" are fine.
void CheckOutputIsNoInput(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_OUTPUT_CHECK_H_
