// The flags of stream_server, as the options of a server.
#ifndef RUNNEL_TOOLS_SERVER_SERVER_FLAGS_H_
#define RUNNEL_TOOLS_SERVER_SERVER_FLAGS_H_

#include "tools/cli/command_line.h"
#include "tools/server/server.h"

namespace runnel::server {

// For ToolInfo::sources.
extern const FlagSource kServerFlagsSource;

// All options but the defaults of streams (tools/cli/stream_flags.h). Throws std::invalid_argument
// naming the flag that is out of its range, std::runtime_error when the file of the bearer token
// cannot be read.
ServerOptions OptionsFromFlags();

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_SERVER_FLAGS_H_
