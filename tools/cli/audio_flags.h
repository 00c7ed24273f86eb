// The flags that choose what is read of a recording.
#ifndef RUNNEL_TOOLS_CLI_AUDIO_FLAGS_H_
#define RUNNEL_TOOLS_CLI_AUDIO_FLAGS_H_

#include <string>

#include "frontend/audio_reader.h"
#include "tools/cli/command_line.h"

namespace runnel {

// For ToolInfo::sources: the file that defines --channel, --audio_track and --strict_recordings.
extern const FlagSource kAudioFlagsSource;

// Throws std::invalid_argument naming the flag and its value.
AudioReaderOptions AudioOptionsFromFlags();

// Throws std::invalid_argument when one of the flags is given. `reason` completes the message
// "--channel cannot be given with ...".
void RequireNoAudioFlags(const std::string& reason);

}  // namespace runnel

#endif  // RUNNEL_TOOLS_CLI_AUDIO_FLAGS_H_
