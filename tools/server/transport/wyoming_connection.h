// A connection of the Wyoming protocol: moves events between a socket and one LiveSession after
// another.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_WYOMING_CONNECTION_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_WYOMING_CONNECTION_H_

#include <string>

#include "tools/network/any_stream.h"
#include "tools/server/session/connection_context.h"

namespace runnel::server {

// Serves the connection to its end; returns at once. `info`: of WyomingInfo. An utterance takes a
// stream's slot at its audio-start. A connection above a limit (context.refusal) gets only an error
// event. Call it on the stream's strand.
void ServeWyoming(AnyStream stream, ConnectionContext context, const std::string& info);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_WYOMING_CONNECTION_H_
