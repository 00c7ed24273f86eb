// A connection from its acceptance on: TLS handshake, HTTP requests, the upgrade to a WebSocket.
// Flow: packets -> frontend -> encoder -> runtime -> tools (this).
#ifndef RUNNEL_TOOLS_SERVER_HTTP_SESSION_H_
#define RUNNEL_TOOLS_SERVER_HTTP_SESSION_H_

#include "tools/server/any_stream.h"
#include "tools/server/connection_context.h"

namespace runnel::server {

// Serves the connection to its end; returns at once. One that is above a limit (context.refusal) is
// only told so, or how the server is. On the stream's strand, or before it runs.
void ServeConnection(AnyStream stream, ConnectionContext context);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_HTTP_SESSION_H_
