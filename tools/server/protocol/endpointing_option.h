// The option "endpointing" of Runnel's protocol and of recordings.
#ifndef RUNNEL_TOOLS_SERVER_PROTOCOL_ENDPOINTING_OPTION_H_
#define RUNNEL_TOOLS_SERVER_PROTOCOL_ENDPOINTING_OPTION_H_

#include <string>

#include "encoder/json/json_section.h"
#include "runtime/endpoint_options.h"
#include "tools/server/protocol/message_text.h"

namespace runnel::server {

// Reads the field "endpointing" if it is there: true, false, or an object with the fields
// silence_s, initial_silence_s, max_utterance_s, blank_probability, reset_encoder and
// skip_silence, each optional. Throws std::runtime_error like ReadStartOptions.
void ReadEndpointing(JsonSection* fields, EndpointOptions* options);

// Reads the fields of such an object, whose names have `prefix` before them, from `fields`.
void ReadEndpointRules(JsonSection* fields, const std::string& prefix, EndpointOptions* options);

// The value that ReadEndpointing reads as `options`: false or an object.
OrderedJson EndpointingAsJson(const EndpointOptions& options);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_PROTOCOL_ENDPOINTING_OPTION_H_
