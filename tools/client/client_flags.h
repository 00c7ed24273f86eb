// The flags that stream_client and load_client share.
#ifndef RUNNEL_TOOLS_CLIENT_CLIENT_FLAGS_H_
#define RUNNEL_TOOLS_CLIENT_CLIENT_FLAGS_H_

#include <vector>

#include "tools/cli/command_line.h"
#include "tools/client/connection.h"
#include "tools/client/session.h"
#include "tools/decode/input/recording_list.h"

namespace runnel::client {

// For ToolInfo::sources: the file that defines these flags.
extern const FlagSource kClientFlagsSource;

// These throw std::invalid_argument, which names the flag, its value and the expected one.
// RecordingsFromFlags also throws as ReadRecordingList does, ConnectorOptionsFromFlags as
// ReadToken.
ConnectorOptions ConnectorOptionsFromFlags();
SessionOptions SessionOptionsFromFlags();
std::vector<Recording> RecordingsFromFlags();

// --sample_rate with its default resolved; 0: each recording's own rate.
int SampleRateFromFlags();

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_CLIENT_FLAGS_H_
