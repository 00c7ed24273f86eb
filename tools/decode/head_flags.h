// The flags of a search that name no file: its method, the head and language of the model,
// rescoring.
#ifndef RUNNEL_TOOLS_DECODE_HEAD_FLAGS_H_
#define RUNNEL_TOOLS_DECODE_HEAD_FLAGS_H_

#include <string>

#include "runtime/stream.h"

namespace runnel {

// For ToolInfo::source_files: the file that defines --search, --head, --max_symbols, --ctc_weight,
// --token_beam, --rescore, --reverse_weight and --language.
extern const char* const kHeadFlagsSource;

// Sets what the flags say. `needs_beam`: the flag of a file that selects beam search unless
// --search is given, or "" (FlagThatNeedsBeamSearch in tools/cli/search_flags.h). Throws
// std::invalid_argument naming flag, value and range, or the flags that exclude each other.
void ReadHeadFlags(const std::string& needs_beam, StreamOptions* options);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_HEAD_FLAGS_H_
