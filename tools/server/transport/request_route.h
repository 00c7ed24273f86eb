// Decides what serves an HTTP request.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_REQUEST_ROUTE_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_REQUEST_ROUTE_H_

#include <string_view>

#include "tools/server/resources/admission.h"

namespace runnel::server {

// The parts of a request's header that decide.
struct RequestHead {
  std::string_view method;  // "GET"
  std::string_view target;  // "/healthz?x"
  bool is_upgrade = false;  // to a WebSocket
  bool has_body = false;
  bool keeps_alive = false;  // the client offers to reuse the connection
};

enum class Route {
  kReply,          // Answer; the next request may follow
  kReplyAndClose,  // Answer; then the connection ends
  kRefuse,         // RefusalReply; then the connection ends
  kWebSocket,
  kUpload
};

// `refusal`: why the connection exceeds a limit. Such a connection may ask for the server's health,
// nothing else. A reply to a request with a body ends the connection, because the body is not read.
Route RouteOf(const RequestHead& head, Refusal refusal);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_REQUEST_ROUTE_H_
