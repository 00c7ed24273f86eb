// The flags that stream_client and load_client share, and what they mean.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this, below stream_client,
// load_client).
#ifndef RUNNEL_TOOLS_CLIENT_CLIENT_FLAGS_H_
#define RUNNEL_TOOLS_CLIENT_CLIENT_FLAGS_H_

#include <vector>

#include "tools/client/connection.h"
#include "tools/client/session.h"
#include "tools/recording_list.h"

namespace runnel::client {

// For ToolInfo::source_files.
extern const char* const kClientFlagsSource;

// These throw std::invalid_argument, naming flag, value and what was expected; RecordingsFromFlags
// also as ReadRecordingList does, ConnectorOptionsFromFlags as ReadToken.
ConnectorOptions ConnectorOptionsFromFlags();
SessionOptions SessionOptionsFromFlags();
std::vector<Recording> RecordingsFromFlags();

// --sample_rate, or what it stands for; 0: each recording's own.
int SampleRateFromFlags();

// Throws std::invalid_argument unless the flag `name`, which is `value`, is at least `min`.
void RequireAtLeast(const char* name, double value, double min);

}  // namespace runnel::client

#endif  // RUNNEL_TOOLS_CLIENT_CLIENT_FLAGS_H_
