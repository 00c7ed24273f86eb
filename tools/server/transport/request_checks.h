// What a request must have that the parser of HTTP does not check.
#ifndef RUNNEL_TOOLS_SERVER_TRANSPORT_REQUEST_CHECKS_H_
#define RUNNEL_TOOLS_SERVER_TRANSPORT_REQUEST_CHECKS_H_

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <optional>
#include <string_view>

#include "tools/server/transport/http_reply.h"

namespace runnel::server {

// The reply to a request that another server could read in another way: without or with several
// Hosts, with another transfer encoding than chunked, or with a key that no WebSocket client sends.
std::optional<HttpReply> FaultOf(
    const boost::beast::http::request<boost::beast::http::empty_body>& request);

// The host and port that the request is for: those of a target such as "http://host:80/path", whose
// header Host does not count (RFC 9112, section 3.2.2); otherwise those of the header, "" without
// it. Valid as long as `request`.
std::string_view HostOf(const boost::beast::http::request<boost::beast::http::empty_body>& request);

}  // namespace runnel::server

#endif  // RUNNEL_TOOLS_SERVER_TRANSPORT_REQUEST_CHECKS_H_
