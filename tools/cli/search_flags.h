// The flags of hotwords and language models, and the options they make.
#ifndef RUNNEL_TOOLS_CLI_SEARCH_FLAGS_H_
#define RUNNEL_TOOLS_CLI_SEARCH_FLAGS_H_

#include <string>
#include <vector>

#include "runtime/search_options.h"
#include "runtime/token_table.h"

namespace runnel {

// For ToolInfo::source_files: the file that defines --hotwords, --hotword_score, --lm, --lm_level,
// --lm_weight and --lm_bonus.
extern const char* const kSearchFlagsSource;

// Throws std::invalid_argument when a value is out of range, or is given without its file.
void CheckSearchFlags();

// The flag of a file that needs beam search: "hotwords", "lm", or "" if neither is given.
std::string FlagThatNeedsBeamSearch();

// Reads the files that the flags name, for the tokens of a model, into `options`. Throws as
// Hotwords::Read, LanguageModel::Load and PrepareLanguageModel do.
void ReadSearchFiles(const TokenTable& tokens, SearchOptions* options);

// The files that the flags name, for CheckOutputIsNoInput.
std::vector<std::string> SearchInputFiles();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_SEARCH_FLAGS_H_
