// The flags that choose the head of a model and how its search goes.
#ifndef RUNNEL_TOOLS_DECODE_HEAD_FLAGS_H_
#define RUNNEL_TOOLS_DECODE_HEAD_FLAGS_H_

#include "runtime/search_options.h"

namespace runnel {

// For ToolInfo::source_files: the file that defines --head, --max_symbols and --ctc_weight.
extern const char* const kHeadFlagsSource;

// Sets what the flags say. Throws std::invalid_argument naming flag, value and range.
void ReadHeadFlags(SearchOptions* options);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_HEAD_FLAGS_H_
