// A WebSocket connection: moves messages between a socket and a LiveSession.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_WEBSOCKET_SESSION_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_WEBSOCKET_SESSION_H_

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <memory>

#include "tools/network/any_stream.h"
#include "tools/server/protocol/protocol.h"
#include "tools/server/session/connection_context.h"

namespace runnel::server {

// Replies to the upgrade `request` and serves the connection to its end; returns at once.
// `stream_ticket` is the stream's slot. `protocol`: null when the first message chooses it. Call it
// on the stream's strand.
void ServeWebSocket(AnyStream stream, ConnectionContext context, Ticket stream_ticket,
                    const beast::http::request<beast::http::empty_body>& request,
                    std::shared_ptr<Protocol> protocol);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_WEBSOCKET_SESSION_H_
