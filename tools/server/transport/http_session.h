// Serves an accepted connection: TLS handshake, HTTP requests, the change to a WebSocket or upload.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_SESSION_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_SESSION_H_

#include "tools/network/any_stream.h"
#include "tools/server/session/connection_context.h"

namespace runnel::server {

// Serves the connection to its end; returns at once. A connection above a limit (context.refusal)
// gets only the refusal, or the reply to a health probe. Call it on the stream's strand, or before
// the event loop runs.
void ServeConnection(AnyStream stream, ConnectionContext context);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_HTTP_SESSION_H_
