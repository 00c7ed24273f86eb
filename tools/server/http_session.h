// A connection from its acceptance on: TLS handshake, HTTP requests, the upgrade to a WebSocket.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_HTTP_SESSION_H_
#define RUNNEL_TOOLS_SERVER_HTTP_SESSION_H_

#include "tools/server/any_stream.h"
#include "tools/server/connection_context.h"

namespace runnel::server {

// Serves the connection to its end; returns at once. `is_within`: false when it is one too many,
// and every request is refused. On the stream's strand, or before it runs.
void ServeConnection(AnyStream stream, ConnectionContext context, bool is_within);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_HTTP_SESSION_H_
