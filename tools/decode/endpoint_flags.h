// The flags that divide a recording into utterances.
#ifndef RUNNEL_TOOLS_DECODE_ENDPOINT_FLAGS_H_
#define RUNNEL_TOOLS_DECODE_ENDPOINT_FLAGS_H_

#include "runtime/endpoint_options.h"

namespace runnel {

// For ToolInfo::source_files: the file that defines --endpointing, --endpoint_silence,
// --endpoint_initial_silence, --endpoint_max_utterance, --endpoint_blank and --reset_encoder.
extern const char* const kEndpointFlagsSource;

// Throws std::invalid_argument when a value is out of its range, or a flag is given without
// --endpointing.
EndpointOptions EndpointOptionsFromFlags();

}  // namespace runnel

#endif  // RUNNEL_TOOLS_DECODE_ENDPOINT_FLAGS_H_
