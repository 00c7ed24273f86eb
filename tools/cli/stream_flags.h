// The flags of the options of a stream, made from their table (runtime/options/stream_options.h).
#ifndef RUNNEL_TOOLS_CLI_STREAM_FLAGS_H_
#define RUNNEL_TOOLS_CLI_STREAM_FLAGS_H_

#include <string>
#include <vector>

#include "runtime/options/stream_options.h"
#include "runtime/token_table.h"
#include "tools/cli/command_line.h"
#include "tools/cli/option_flags.h"

namespace runnel {

// For ToolInfo::sources of a tool that has StreamFlags.
extern const FlagSource kStreamFlagsSource;

// One per program, a static object (OptionFlags).
class StreamFlags {
 public:
  // Makes a flag of each option of `user`.
  explicit StreamFlags(OptionUser user);
  StreamFlags(const StreamFlags&) = delete;
  StreamFlags& operator=(const StreamFlags&) = delete;

  // What the command line has set, without the contents of files. Throws std::invalid_argument
  // naming flag, value and range, or a flag and what it needs. A server's clients may choose that,
  // so of a server only what it needs of other flags.
  ChosenOptions Read() const;

  // Reads the files that the flags name, for the tokens of a model. Throws as WordList::Read,
  // Hotwords::Read, LanguageModel::Load and PrepareLanguageModel do.
  void ReadFiles(const TokenTable& tokens, OptionValues* values) const;

  // The files that the flags name, for CheckOutputIsNoInput.
  std::vector<std::string> InputFiles() const;

 private:
  std::string FileOf(const std::string& name) const;  // "" where it is not given

  const OptionUser user_;
  const OptionFlags<StreamOption> flags_;
};

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_STREAM_FLAGS_H_
